"""Run blocking work beside the event loop."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

Args = ParamSpec("Args")
Result = TypeVar("Result")


async def finished_in_thread(
    work: Callable[Args, Result], *args: Args.args, **kwargs: Args.kwargs
) -> Result:
    """Run blocking work in a thread; a cancelled caller continues only when it has finished.

    A thread cannot be stopped: left behind, it would write files after its call was reported as
    cancelled.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        with suppress(asyncio.CancelledError):
            task.exception()  # retrieved, because the caller only wants its own cancellation
        raise
