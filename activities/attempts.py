"""Check whether the current attempt of a call still counts, and read what earlier ones left.

Temporal gives a call to another worker when this one is silent for longer than the call's heartbeat
timeout. A worker that was frozen meanwhile (a stopped process, a suspended machine) does not
notice: it would start or continue a call whose result may already be recorded. So an attempt
measures the time since its last heartbeat. Past the deadline it asks the server, with a heartbeat
of its own, before it starts or continues. Work that may happen only once always asks.

An attempt also ends itself before the server's start-to-close timeout, after which the next one may
begin, and begins nothing afterwards.

One window remains: a worker that freezes between the answer and the effect itself.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, cast

from pydantic import JsonValue, ValidationError
from temporalio import activity
from temporalio.client import AsyncActivityCancelledError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from coterie.activities.contracts import END_MARGIN, FailureType, Spent
from coterie.dsl.values import Json

Details = Callable[[], tuple[Json, ...]]

_CONFIRM_TIMEOUT = timedelta(seconds=5)
_PAUSE = 0.5
"""Seconds between two requests to a server that does not answer."""


class Standing(Enum):
    """What the server says about an attempt."""

    CURRENT = "current"
    STALE = "stale"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    """The server did not answer."""


Ask = Callable[[], Awaitable[Standing]]


def elapsed() -> float:
    """Return seconds of a clock that never jumps and keeps counting while the machine sleeps."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class Attempt:
    """One attempt of a call, and how long it counts without asking the server."""

    def __init__(
        self,
        timeout: float,
        ask: Ask,
        *,
        age: float = 0.0,
        patience: float = 0.0,
        limit: float | None = None,
        clock: Callable[[], float] = elapsed,
    ) -> None:
        """Start measuring.

        Args:
            timeout: Seconds of silence after which Temporal gives the call to another worker.
            ask: Asks the server.
            age: Seconds since the server handed out the attempt.
            patience: Seconds to keep asking a server that does not answer.
            limit: Seconds from now after which the attempt has ended itself.
            clock: Returns seconds.
        """
        self._timeout = timeout
        self._ask = ask
        self._clock = clock
        self._alive = clock() - age
        self._patience = patience
        self._end = None if limit is None else clock() + limit
        self._waiting = False

    @property
    def overdue(self) -> bool:
        """Whether the last heartbeat is so old that the server may have given the call away."""
        return self._clock() - self._alive > self._timeout / 2

    @property
    def is_over(self) -> bool:
        """Whether its time is over."""
        return self._end is not None and self._clock() >= self._end

    def beat(self) -> None:
        """Record a heartbeat."""
        self._alive = self._clock()

    async def check(self) -> None:
        """Make sure that the attempt counts; ask the server only when that is in doubt.

        Raises:
            ApplicationError: StaleAttempt.
        """
        if self.overdue:
            await self.confirm()
        elif self.is_over:
            raise _stale("its time is over")

    async def check_going_on(self) -> None:
        """Check like `check`, while the work continues; do not wait for an unreachable server.

        Skip the check while the work itself waits in `confirm`.

        Raises:
            ApplicationError: StaleAttempt.
        """
        if self.overdue and not self._waiting:
            await self._judge(await self._ask())

    async def confirm(self) -> None:
        """Make the server confirm that the attempt counts, while the work waits.

        Keep asking an unreachable server: once it is back, it either confirms the attempt or has
        given the call away.

        Raises:
            ApplicationError: StaleAttempt: it does not count, its time is over, or the server never
                answers.
        """
        self._waiting = True
        try:
            standing = await self._answer()
        finally:
            self._waiting = False
        await self._judge(standing)
        if self.is_over:
            raise _stale("its time is over")

    async def _answer(self) -> Standing:
        """Return what the server says now; what it said before a freeze may be out of date."""
        end = self._clock() + self._patience
        while True:
            start = self._clock()
            standing = await self._ask()
            late = standing is Standing.CURRENT and self._clock() - start > self._timeout / 2
            if late and not self.is_over:
                continue
            if standing is not Standing.UNKNOWN or self._clock() >= end:
                return standing
            await asyncio.sleep(_PAUSE)

    async def _judge(self, standing: Standing) -> None:
        match standing:
            case Standing.CURRENT:
                self.beat()
            case Standing.STALE:
                raise _stale("Temporal gave the call to another attempt in the meantime")
            case Standing.CANCELLED:  # the SDK cancels the work at its next heartbeat
                await asyncio.sleep(self._timeout)
                raise _stale("the call was cancelled")
            case Standing.UNKNOWN:
                raise _stale("the server does not answer whether the attempt still counts")


def _stale(why: str) -> ApplicationError:
    return ApplicationError(
        f"this attempt did not start or did not finish: {why}",
        type=FailureType.STALE_ATTEMPT,
    )


def not_begun(why: str) -> ApplicationError:
    """Return the failure of an attempt before whose effect something stopped it."""
    return _stale(why)


current: ContextVar[Attempt | None] = ContextVar("attempt", default=None)
"""The attempt in progress; None outside activities."""

call_end: ContextVar[float | None] = ContextVar("call_end", default=None)
"""When the call in progress ends itself, on the clock of the event loop; None without a limit."""


def seconds_left() -> float | None:
    """Return the seconds until the call in progress ends itself; None without a limit."""
    end = call_end.get()
    return None if end is None else max(0.0, end - asyncio.get_running_loop().time())


async def check_attempt() -> None:
    """Make sure that the attempt in progress counts before it continues.

    Raises:
        ApplicationError: StaleAttempt.
    """
    attempt = current.get()
    if attempt is not None:
        await attempt.check()


async def confirm_attempt() -> None:
    """Make the server confirm the attempt in progress, before work that may happen only once.

    Raises:
        ApplicationError: StaleAttempt.
    """
    attempt = current.get()
    if attempt is not None:
        await attempt.confirm()


def own_seconds() -> float | None:
    """Return the seconds after which the current activity ends itself; None without a limit.

    Temporal allows it `END_MARGIN` more. A local activity shares the end of its workflow task.
    """
    limit = activity.info().start_to_close_timeout if activity.in_activity() else None
    if limit is None:
        return None
    if activity.info().is_local:
        return limit.total_seconds()
    return (limit - END_MARGIN if limit > END_MARGIN else limit / 2).total_seconds()


def is_unwanted() -> bool:
    """Return whether a call was cancelled for good, and not because its worker stops."""
    if not activity.in_activity():
        return True
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested and not details.worker_shutdown


def attempt_of_activity(details: Details) -> Attempt | None:
    """Return the attempt of the current activity; None without a heartbeat timeout.

    Args:
        details: Returns the heartbeat details, which the next attempt gets if this one is lost.
    """
    if not activity.in_activity() or not activity.info().heartbeat_timeout:
        return None
    info = activity.info()
    timeout = info.heartbeat_timeout or timedelta()
    age = (datetime.now(UTC) - info.started_time).total_seconds()

    async def ask() -> Standing:
        try:
            client = activity.client()
        except RuntimeError:  # a test environment, without a worker
            return Standing.CURRENT
        handle = client.get_async_activity_handle(task_token=info.task_token)
        try:
            await handle.heartbeat(*details(), rpc_timeout=_CONFIRM_TIMEOUT)
        except AsyncActivityCancelledError:
            return Standing.CANCELLED
        except RPCError as error:
            gone = error.status == RPCStatusCode.NOT_FOUND
            return Standing.STALE if gone else Standing.UNKNOWN
        return Standing.CURRENT

    limit = own_seconds()
    patience = timeout.total_seconds() if limit is None else limit
    return Attempt(timeout.total_seconds(), ask, age=max(age, 0.0), patience=patience, limit=limit)


def earlier_details() -> Sequence[Any]:
    """Return the details of the last heartbeat of earlier attempts; none outside activities."""
    return activity.info().heartbeat_details if activity.in_activity() else ()


def handed_on(details: Sequence[Any]) -> Spent | None:
    """Return what earlier attempts used, from the details of their last heartbeat."""
    if not details:
        return None
    try:
        return Spent.model_validate(details[0]).closed()
    except ValidationError:
        return None  # from another version of this worker


def reported(details: Sequence[Any]) -> JsonValue:
    """Return what an earlier attempt reported, from the details of its last heartbeat."""
    match details:
        case [_, {"progress": progress}]:
            return cast("JsonValue", progress)
        case _:
            return None
