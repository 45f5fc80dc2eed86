"""Blocking work beside the event loop."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

Args = ParamSpec("Args")
Result = TypeVar("Result")


async def finished_in_thread(
    work: Callable[Args, Result], *args: Args.args, **kwargs: Args.kwargs
) -> Result:
    """Run blocking work in a thread; a cancelled caller goes on only when it has finished.

    A thread cannot be stopped: to leave it behind would let it write files after its call was
    reported as cancelled.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # seen: the caller wants to know of its own cancellation only
        raise
