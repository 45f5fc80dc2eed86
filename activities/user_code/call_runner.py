"""Run the coroutines of a child's calls in one event loop, so that connections stay open.

What a call leaves behind ends with it: a task or a thread that went on would act in another call.
"""

import asyncio
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self


class CallRunner:
    """The event loop of one child process."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        """Return the runner; the loop begins with the first call."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the loop."""
        self._runner.close()

    def run(self, work: Awaitable[Any]) -> Any:
        """Run one call to its end, and stop what it leaves behind."""
        with ThreadPoolExecutor() as threads:  # waits for its threads
            self._runner.get_loop().set_default_executor(threads)
            return self._runner.run(_alone(work))


async def _alone(work: Awaitable[Any]) -> Any:
    try:
        return await work
    finally:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
