"""Work that takes a while, done once for all who wait for it."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")
_MAX_FAILED = 100


class SharedWork(Generic[Value]):
    """Runs one task per key."""

    def __init__(self) -> None:
        """Have nothing to do."""
        self._tasks: dict[Hashable, asyncio.Task[Value]] = {}
        self._failed: dict[Hashable, BaseException] = {}
        """Of tasks that failed after all who waited had left: the next one gets it."""

    async def result(
        self,
        key: Hashable,
        work: Callable[[], Coroutine[object, object, Value]],
        seconds: float | None = None,
    ) -> Value | None:
        """Return what the work returns; None if it takes longer, and continues.

        Raises:
            Exception: What the work raises.
        """
        if key in self._failed:
            raise self._failed.pop(key)
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(work())
            task.add_done_callback(lambda done: self._end(key, done))
        done, _ = await asyncio.wait((task,), timeout=seconds)
        if not done:
            return None
        self._failed.pop(key, None)
        return task.result()

    def _end(self, key: Hashable, task: asyncio.Task[Value]) -> None:
        del self._tasks[key]
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._failed[key] = error
            while len(self._failed) > _MAX_FAILED:
                del self._failed[next(iter(self._failed))]
