"""Conditions with a timeout, as a run waits for them."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from temporalio import workflow


async def condition(holds: Callable[[], bool], limit: timedelta | None, summary: str) -> None:
    """Wait until the condition holds, unless the waiting coroutine is cancelled.

    `asyncio.wait_for` of Python 3.11, on which the SDK builds a condition with a timeout, drops a
    cancellation that arrives after the condition became true: a loser would wait again.

    Raises:
        TimeoutError: the time is up.
        CancelledError: the coroutine was cancelled meanwhile.
    """
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()  # not 0 in the `finally` steps of a loser
    await workflow.wait_condition(holds, timeout=limit, timeout_summary=summary)
    if task is not None and task.cancelling() > before:
        raise asyncio.CancelledError


def never() -> bool:
    """Return False: what ends a wait that nothing else ends."""
    return False
