"""Branches that run concurrently in a workflow."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

from coterie.dsl.errors import TeamError
from coterie.workflows.core.location import Redirected, Returned, Skipped
from coterie.workflows.core.pace import Branches, Pace
from coterie.workflows.core.scope import Interrupted, Job, Jobs


class BranchGroup:
    """Concurrent coroutines: which are waiting, which are running, which have finished."""

    def __init__(
        self,
        jobs: Jobs,
        branches: Branches,
        pace: Pace,
        begun: Set[str] = frozenset(),
    ) -> None:
        listed = iter(jobs.items() if isinstance(jobs, Mapping) else ())
        self._take = partial(next, listed, None) if isinstance(jobs, Mapping) else jobs.take
        self._begun = begun
        self._next = self._take()
        self._jobs: dict[str, Job] = {}
        """Those that run, or have stopped for the run to continue as new."""
        self._done: list[str] = []
        self._branches = branches
        self._pace = pace
        self._finished: set[str] = set()
        self._interrupted: list[str] = []
        self.running: dict[str, asyncio.Task[None]] = {}
        self.stopped = False
        """Whether one has stopped for the run to continue as new: no other starts."""

    @property
    def finished(self) -> Set[str]:
        """The names of the finished branches."""
        return self._finished

    @property
    def go_on(self) -> bool:
        """Return whether there is something to wait for."""
        return bool(self.running) or self._waits

    @property
    def has_stopped(self) -> bool:
        """Return whether all that ran have stopped for the run to continue as new."""
        return self.stopped and not self.running

    @property
    def has_unhandled_end(self) -> bool:
        """Return whether a finished branch has not been processed yet."""
        return bool(self._done)

    @property
    def _waits(self) -> bool:
        if self._next is None:  # jobs that the ended ones have made possible
            self._next = self._take()
        return self._next is not None and not self.stopped

    def wants(self, at_once: int | None) -> bool:
        """Return whether another branch may start, as soon as the pace allows it."""
        beside = len(self.running)
        if not self._waits or not self._next or (at_once is not None and beside >= at_once):
            return False
        return self._next[0] in self._begun or self._branches.may_start(beside)

    def start(self, at_once: int | None) -> None:
        """Start waiting branches in written order, as many as may run concurrently."""
        while self.wants(at_once) and self._pace.may_step():
            if self._next is None:
                return
            (name, job), self._next = self._next, self._take()
            self._pace.steps += 1
            self._branches.started(len(self.running))
            self._jobs[name] = job
            task = self.running[name] = asyncio.create_task(job())
            task.add_done_callback(lambda _, name=name: self._done.append(name))

    def ended(self) -> bool:
        """Remove the ended branches, in order of their starts; return whether there were any."""
        if not self._done:
            return False
        done, self._done = set(self._done), []
        for name in [name for name in self.running if name in done]:
            task = self.running.pop(name)
            self._branches.ended(len(self.running))
            if interrupted(task):
                self.stopped = True
                self._interrupted.append(name)
            else:
                task.result()
                self._finished.add(name)
                del self._jobs[name]
        return True

    def interrupted(self) -> list[Job]:
        """Return the branches that have stopped for the run to continue as new."""
        late = (name for name, task in self.running.items() if interrupted(task))
        return [self._jobs[name] for name in (*self._interrupted, *late)]

    def leave(self) -> None:
        """Give back the slots of all branches that still run: they have been stopped."""
        while self.running:
            self.running.popitem()
            self._branches.ended(len(self.running))


def interrupted(task: asyncio.Task[Any]) -> bool:
    """Return whether the task has stopped for the run to continue as new."""
    return task.done() and not task.cancelled() and isinstance(task.exception(), Interrupted)


async def left_of(timer: asyncio.Task[bool] | None) -> float | None:
    """Return the seconds left of a time limit that was interrupted together with its job."""
    if timer is None:
        return None
    try:
        await timer
    except Interrupted as stopped:
        return stopped.left
    return 0.0


def failures(tasks: Sequence[asyncio.Task[Any]]) -> Iterator[BaseException]:
    """Yield the failures of stopped tasks, other than their cancellation."""
    for task in tasks:
        failure = None if task.cancelled() else task.exception()
        if failure is not None and not isinstance(failure, Interrupted):
            yield failure


def is_dropped(failure: BaseException, error: BaseException | None, cancelled: str | None) -> bool:
    """Return whether a failure is dropped, because something else ended the block before it.

    Args:
        failure: of a branch that was being stopped.
        error: why the branches were stopped; None if enough of them had ended.
        cancelled: the reason of the request to cancel the run.
    """
    if not isinstance(failure, (TeamError, Redirected, Returned, Skipped)):
        return False  # a bug, with which the run must not end
    if cancelled is not None:
        return True
    return error is not None and not isinstance(error, asyncio.CancelledError)
