"""Send heartbeats while slow work is awaited.

Temporal reports the cancellation of an activity in its reply to a heartbeat, and takes a call away
from a worker that is silent for too long: so all slow work runs inside `heartbeating`. Cancellation
reaches an async activity where it awaits; nothing more is needed. An attempt that no longer counts
neither starts nor continues (`attempts.py`), and each ends itself before Temporal's own time limit.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, nullcontext

from temporalio import activity
from temporalio.exceptions import ApplicationError

from coterie.activities.attempts import (
    Attempt,
    Details,
    attempt_of_activity,
    call_end,
    current,
    own_seconds,
)
from coterie.activities.contracts import HEARTBEAT_EVERY, MAX_HEARTBEAT_DELAY
from coterie.dsl.values import Json

_FIRST_BEAT = MAX_HEARTBEAT_DELAY.total_seconds()

_LAST_WORDS = 1.0
"""Seconds for work that ends itself at the limit and says how."""


class CallTimedOut(Exception):
    """A call has ended itself at its time limit; the message says at which."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"did not end within {seconds:g} s")


@asynccontextmanager
async def heartbeating(
    details: Details = tuple[Json, ...], *, seconds: float | None = None
) -> AsyncGenerator[None]:
    """Send heartbeats in the background, three within the activity's heartbeat timeout.

    Send none outside an activity, or in one without a heartbeat timeout.

    Args:
        details: Returns the heartbeat details, which the next attempt gets if this one is lost.
        seconds: Time limit. Default: that of the activity.

    Raises:
        CallTimedOut: The time limit is over.
        ApplicationError: StaleAttempt: the server gave the call to another attempt.
    """
    attempt = attempt_of_activity(details)
    if attempt is not None:
        await attempt.check()
    beating = (
        nullcontext()
        if attempt is None
        else kept_alive(attempt, _interval(), lambda: activity.heartbeat(*details()))
    )
    limit = seconds or own_seconds()
    timeout = asyncio.timeout(None if limit is None else limit + _LAST_WORDS)
    now = asyncio.get_running_loop().time()
    token = call_end.set(None if limit is None else now + limit)
    try:
        async with timeout, beating:
            yield
    except TimeoutError:
        if limit is None or not timeout.expired():
            raise
        raise CallTimedOut(limit) from None
    finally:
        call_end.reset(token)


@asynccontextmanager
async def kept_alive(
    attempt: Attempt, interval: float, beat: Callable[[], None]
) -> AsyncGenerator[None]:
    """Send heartbeats, and cancel the block once the attempt no longer counts.

    Most calls of tools end before the first one.

    Raises:
        ApplicationError: StaleAttempt.
    """
    working = asyncio.current_task()
    assert working is not None
    stale: list[ApplicationError] = []

    async def beats() -> None:
        while True:
            try:
                await attempt.check_going_on()
            except ApplicationError as error:
                stale.append(error)
                working.cancel()
                return
            beat()
            attempt.beat()
            await asyncio.sleep(interval)

    token = current.set(attempt)
    beating: list[asyncio.Task[None]] = []
    first = asyncio.get_running_loop().call_later(
        min(interval, _FIRST_BEAT), lambda: beating.append(asyncio.create_task(beats()))
    )
    try:
        yield
    except asyncio.CancelledError:
        if stale and working.uncancel() == 0:
            raise stale[0] from None
        raise
    finally:
        current.reset(token)
        first.cancel()
        for beat_task in beating:
            beat_task.cancel()
            await asyncio.wait([beat_task])


def _interval() -> float:
    timeout = activity.info().heartbeat_timeout
    assert timeout is not None
    return min(timeout.total_seconds() / 3, HEARTBEAT_EVERY.total_seconds())
