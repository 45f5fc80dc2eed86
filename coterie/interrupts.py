"""Runs a command's coroutine so that Ctrl-C and a polite kill end it in order."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Terminated(Exception):
    """SIGTERM came, and the command has cleaned up."""


def run_async(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end; SIGTERM counts as Ctrl-C.

    Raises:
        KeyboardInterrupt: it was interrupted, after its own cleaning up.
    """
    try:
        return asyncio.run(_until_terminated(main))
    except _Terminated:
        raise KeyboardInterrupt from None


async def _until_terminated(main: Coroutine[Any, Any, T]) -> T:
    task = asyncio.create_task(main)
    terminated = asyncio.Event()

    def terminate() -> None:
        terminated.set()
        task.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
    try:
        return await task
    except asyncio.CancelledError:
        if terminated.is_set():
            raise _Terminated from None
        raise
