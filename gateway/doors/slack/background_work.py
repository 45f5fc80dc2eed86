"""Work that outlives the request that began it: few at a time, and ended with the gateway."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final

from coterie.gateway.operations.error_reports import Rejection

MAX_TASKS: Final = 200
_END_SECONDS: Final = 2.0

_log = logging.getLogger("coterie")


class BackgroundWork:
    """The tasks of a door. Nothing of it is remembered: what must last is in the runs."""

    def __init__(self) -> None:
        """Begin without any."""
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Begin some work.

        Raises:
            Rejection: There is too much of it already.
        """
        if len(self._tasks) >= MAX_TASKS:
            work.close()
            raise Rejection(503, "too_much_work", "too much is in progress for Slack already")
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("work for Slack failed", exc_info=error)

    async def close(self) -> None:
        """Let the work end within a moment, then cancel the rest."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=_END_SECONDS)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
