"""The threads of a worker for blocking work: a pool for each kind, shared between runs.

No kind of work uses up the threads of another, and no run those of its neighbours. Work that takes
long, or whose input is not trusted, runs in a process instead (`activities/process_pool`).
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

from coterie.activities.threads.run_shares import RunShares, run_of_call

Args = ParamSpec("Args")
Result = TypeVar("Result")


class RunThreads:
    """Threads for one kind of work."""

    def __init__(self, kind: str, threads: int, per_run: int) -> None:
        """Take the number of threads, and how many of them one run may use."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=kind)
        self._shares = RunShares(threads, per_run)

    async def run(
        self, work: Callable[Args, Result], *args: Args.args, **kwargs: Args.kwargs
    ) -> Result:
        """Run blocking work; if the caller is cancelled, its thread is free once the work ends."""
        return await (await self._begin(partial(work, *args, **kwargs)))

    async def finish(
        self, work: Callable[Args, Result], *args: Args.args, **kwargs: Args.kwargs
    ) -> Result:
        """Run blocking work; a cancelled caller continues only when it has finished.

        A thread cannot be stopped: left behind, it would write files after its call was reported as
        cancelled.
        """
        begun = await self._begin(partial(work, *args, **kwargs))
        try:
            return await asyncio.shield(begun)
        except asyncio.CancelledError:
            while not begun.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([begun])
            with suppress(asyncio.CancelledError):
                begun.exception()  # retrieved, because the caller only wants its own cancellation
            raise

    async def _begin(self, work: Callable[[], Result]) -> asyncio.Future[Result]:
        run = run_of_call()
        await self._shares.acquire(run)
        shared = _Shared(self._pool, partial(self._shares.release, run))
        return asyncio.get_running_loop().run_in_executor(shared, copy_context().run, work)


class _Shared(Executor):
    """A pool in which a place is given back when the work itself ends, not when its caller does."""

    def __init__(self, pool: Executor, release: Callable[[], None]) -> None:
        self._pool = pool
        self._release = release

    def submit(
        self, fn: Callable[Args, Result], /, *args: Args.args, **kwargs: Args.kwargs
    ) -> Future[Result]:
        begun = self._pool.submit(fn, *args, **kwargs)
        begun.add_done_callback(lambda _: self._release())
        return begun


FUNCTION_THREADS = RunThreads("function", threads=16, per_run=4)
"""For files, databases and requests of tool functions."""
TURN_THREADS = RunThreads("turn", threads=4, per_run=2)
"""For prompts, schemas and answers, whose cost is bounded: they share one interpreter lock."""
STORAGE_THREADS = RunThreads("storage", threads=8, per_run=4)
"""For values and conversations, without which no run continues."""
