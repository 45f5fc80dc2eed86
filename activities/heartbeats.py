"""Signs of life while something slow is awaited.

Temporal tells an activity of its cancellation in answer to a heartbeat, and takes a call away
from a worker that is silent for too long: so whatever may take long runs inside
`heartbeating`. An async activity is then cancelled where it awaits; nothing more is needed.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from temporalio import activity

from activities.contracts import HEARTBEAT_EVERY
from dsl.values import Json

Details = Callable[[], tuple[Json, ...]]


@asynccontextmanager
async def heartbeating(details: Details = tuple[Json, ...]) -> AsyncGenerator[None]:
    """Beat from the background, three times within the activity's heartbeat timeout.

    Outside an activity, and in one without a heartbeat timeout, it does nothing.

    Args:
        details: what each beat tells, for the next attempt should this one be lost.
    """
    interval = _interval()
    if interval is None:
        yield
        return
    beats = asyncio.create_task(_beat(interval, details))
    try:
        yield
    finally:
        beats.cancel()
        await asyncio.wait([beats])


def _interval() -> float | None:
    if not activity.in_activity():
        return None
    timeout = activity.info().heartbeat_timeout
    if not timeout:
        return None
    return min(timeout.total_seconds() / 3, HEARTBEAT_EVERY.total_seconds())


async def _beat(interval: float, details: Details) -> None:
    while True:
        activity.heartbeat(*details())
        await asyncio.sleep(interval)
