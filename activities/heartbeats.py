"""Send heartbeats while slow work is awaited.

Temporal reports the cancellation of an activity in its reply to a heartbeat, and takes a call away
from a worker that is silent for too long: so all slow work runs inside `heartbeating`. Cancellation
reaches an async activity where it awaits; nothing more is needed. An attempt that no longer counts
neither starts nor continues (`attempts.py`).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.attempts import Attempt, Details, attempt_of_activity, current
from activities.contracts import HEARTBEAT_EVERY
from dsl.values import Json


@asynccontextmanager
async def heartbeating(details: Details = tuple[Json, ...]) -> AsyncGenerator[None]:
    """Send heartbeats in the background, three within the activity's heartbeat timeout.

    Do nothing outside an activity, or in one without a heartbeat timeout.

    Args:
        details: Returns the heartbeat details, which the next attempt gets if this one is lost.

    Raises:
        ApplicationError: StaleAttempt: the server gave the call to another attempt.
    """
    attempt = attempt_of_activity(details)
    if attempt is None:
        yield
        return
    await attempt.check()
    async with kept_alive(attempt, _interval(), lambda: activity.heartbeat(*details())):
        yield


@asynccontextmanager
async def kept_alive(
    attempt: Attempt, interval: float, beat: Callable[[], None]
) -> AsyncGenerator[None]:
    """Send heartbeats, and cancel the block once the attempt no longer counts.

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
    beating = asyncio.create_task(beats())
    try:
        yield
    except asyncio.CancelledError:
        if stale and working.uncancel() == 0:
            raise stale[0] from None
        raise
    finally:
        current.reset(token)
        beating.cancel()
        await asyncio.wait([beating])


def _interval() -> float:
    timeout = activity.info().heartbeat_timeout
    assert timeout is not None
    return min(timeout.total_seconds() / 3, HEARTBEAT_EVERY.total_seconds())
