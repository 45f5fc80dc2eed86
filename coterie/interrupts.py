"""Run a command's coroutine so that Ctrl-C, SIGTERM and a closed terminal end it cleanly.

On a second Ctrl-C, the standard library's `asyncio.run` interrupts whatever is running, even inside
a callback, and then waits forever for tasks that the callback would have resumed.
"""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LAST_SECONDS = 3.0
"""Time limit for leftover tasks of a finished command."""


def run_async(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end; treat SIGTERM and SIGHUP like Ctrl-C.

    The first signal cancels the coroutine, which cleans up; each further one cancels the clean-up.

    Raises:
        KeyboardInterrupt: It was interrupted and has cleaned up.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        return loop.run_until_complete(_interruptible(main))
    finally:
        asyncio.set_event_loop(None)
        loop.close()  # resets the handlers that it had to the system's
        for number, handler in before.items():
            signal.signal(number, handler)


async def _interruptible(main: Coroutine[Any, Any, T]) -> T:
    loop, task = asyncio.get_running_loop(), asyncio.create_task(main)
    is_interrupted = False

    def interrupt() -> None:
        nonlocal is_interrupted
        is_interrupted = True
        task.cancel()

    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as for background jobs, and by nohup
            loop.add_signal_handler(number, interrupt)
    await asyncio.wait([task])
    await _cancel_other_tasks()
    await loop.shutdown_asyncgens()
    await asyncio.sleep(0)  # lets the tasks that close abandoned generators run
    await _cancel_other_tasks()
    if is_interrupted and task.cancelled():
        raise KeyboardInterrupt
    return task.result()


async def _cancel_other_tasks() -> None:
    """Cancel all other tasks."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_LAST_SECONDS)
