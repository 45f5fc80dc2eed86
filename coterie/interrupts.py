"""Runs a command's coroutine so that Ctrl-C and a polite kill end it in order.

The standard library's `asyncio.run` breaks off whatever runs at a second Ctrl-C, in the middle of
any callback, and then waits for ever for those whom the callback would have woken.
"""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_LAST_SECONDS = 3.0
"""For what a command has left behind, once it has ended: it is told to stop."""


def run_async(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end; SIGTERM counts as Ctrl-C.

    The first one cancels the coroutine, which cleans up; each further one cancels the cleaning up.

    Raises:
        KeyboardInterrupt: it was interrupted, after its own cleaning up.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(_interruptible(main))
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def _interruptible(main: Coroutine[Any, Any, T]) -> T:
    loop, task = asyncio.get_running_loop(), asyncio.create_task(main)
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        interrupted = True
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as a shell has it in the background
            loop.add_signal_handler(number, interrupt)
    await asyncio.wait([task])
    await _stopped()
    await loop.shutdown_asyncgens()
    await asyncio.sleep(0)  # what is not used any more has its generators closed by tasks
    await _stopped()
    if interrupted and task.cancelled():
        raise KeyboardInterrupt
    return task.result()


async def _stopped() -> None:
    """End all that goes on beside the caller."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=_LAST_SECONDS)
