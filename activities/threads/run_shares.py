"""Share places between runs: no run has more than a few of them, whatever it asks for."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from threading import Lock
from typing import NamedTuple

from temporalio import activity


def run_of_call() -> str:
    """Return the id of the run whose activity this is; empty outside an activity."""
    return (activity.info().workflow_id or "") if activity.in_activity() else ""


class _Waiter(NamedTuple):
    run: str
    entry: asyncio.Future[None]


class RunShares:
    """A number of places. Who waits enters in order, except that the runs with fewest go first.

    Several event loops and threads may use it.
    """

    def __init__(self, places: int, per_run: int) -> None:
        """Take the number of places, and how many of them one run may have.

        What belongs to no run has no other limit than the number of places.
        """
        self._places = places
        self._per_run = per_run
        self._lock = Lock()
        self._held: Counter[str] = Counter()
        self._waiting: list[_Waiter] = []

    @asynccontextmanager
    async def place(self, run: str) -> AsyncGenerator[None]:
        """Hold a place for the block, after waiting for one."""
        await self.acquire(run)
        try:
            yield
        finally:
            self.release(run)

    async def acquire(self, run: str) -> None:
        """Wait for a place, which the caller must release."""
        with self._lock:
            if self._is_free(run):
                self._held[run] += 1
                return
            waiter = _Waiter(run, asyncio.get_running_loop().create_future())
            self._waiting.append(waiter)
        try:
            await waiter.entry
        except asyncio.CancelledError:
            with self._lock:
                has_place = waiter not in self._waiting
                if not has_place:
                    self._waiting.remove(waiter)
            if has_place:
                self.release(run)
            raise

    def release(self, run: str) -> None:
        """Free a place, and let others enter."""
        with self._lock:
            self._held[run] -= 1
            if not self._held[run]:
                del self._held[run]
            while waiter := self._next():
                self._waiting.remove(waiter)
                self._held[waiter.run] += 1
                waiter.entry.get_loop().call_soon_threadsafe(_enter, waiter.entry)

    def _is_free(self, run: str) -> bool:
        is_below = not run or self._held[run] < self._per_run
        return is_below and self._held.total() < self._places

    def _next(self) -> _Waiter | None:
        free = (waiter for waiter in self._waiting if self._is_free(waiter.run))
        return min(free, key=lambda waiter: self._held[waiter.run], default=None)


def _enter(entry: asyncio.Future[None]) -> None:
    if not entry.done():
        entry.set_result(None)
