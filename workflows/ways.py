"""Ways that run at once in a workflow. It stays inside the workflow sandbox."""

import asyncio
from collections.abc import Mapping
from typing import Any

from workflows.scope import Interrupted, Job


class Ways:
    """Coroutines that run at once: which wait, which run, which have finished."""

    def __init__(self, jobs: Mapping[str, Job]) -> None:
        self._waiting = dict(jobs)
        self.running: dict[str, asyncio.Task[None]] = {}
        self.finished: frozenset[str] = frozenset()
        self.stopped = False
        """One has stopped for the run to continue as new: no other is begun."""

    @property
    def go_on(self) -> bool:
        """Whether there is something to wait for."""
        return bool(self.running or (self._waiting and not self.stopped))

    def start(self, at_once: int | None) -> None:
        """Begin those that wait, in written order, as many as may run at once."""
        while self._waiting and not self.stopped:
            if at_once is not None and len(self.running) >= at_once:
                return
            name = next(iter(self._waiting))
            self.running[name] = asyncio.create_task(self._waiting.pop(name)())

    def ended(self) -> bool:
        """Take those that have ended; whether there were any."""
        ended = [name for name, task in self.running.items() if task.done()]
        for name in ended:
            task = self.running.pop(name)
            if interrupted(task):
                self.stopped = True
            else:
                task.result()
                self.finished |= {name}
        return bool(ended)


def interrupted(task: asyncio.Task[Any]) -> bool:
    """Whether it has stopped for the run to continue as new."""
    return task.done() and not task.cancelled() and isinstance(task.exception(), Interrupted)


async def left_of(timer: asyncio.Task[bool] | None) -> float | None:
    """What a time limit has left when all that it limits is interrupted, as it is itself."""
    if timer is None:
        return None
    try:
        await timer
    except Interrupted as stopped:
        return stopped.left
    return 0.0
