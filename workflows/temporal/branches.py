"""Branches: concurrent coroutines of one workflow, started in portions, stopped together."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence, Set
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from temporalio import workflow

from coterie.dsl.errors import TeamError
from coterie.workflows.core.location import Redirected, Returned, Skipped
from coterie.workflows.core.scope import Interrupted, Job, Jobs
from coterie.workflows.temporal.pacer import Pace, Pacer

_IS_ABANDONED: ContextVar[bool] = ContextVar("IS_ABANDONED", default=False)
"""Whether the branch of this coroutine comes back only to be stopped."""


async def abandon(job: Job) -> None:
    """Let a branch come back to its location, where its first effect stops it.

    Run it as a task of its own: what it sets must not hold for its caller.
    """
    _IS_ABANDONED.set(True)
    await job()


def take_abandonment() -> bool:
    """Return whether this coroutine has been abandoned, once: then its cleanup may have effects."""
    is_abandoned = _IS_ABANDONED.get()
    if is_abandoned:
        _IS_ABANDONED.set(False)
    return is_abandoned


def stop_if_abandoned() -> None:
    """Stop an abandoned branch where it would wait, or begin something.

    Raises:
        CancelledError: it is abandoned.
    """
    if take_abandonment():
        raise asyncio.CancelledError


@dataclass(slots=True)
class Branches:
    """How many branches of a run are in progress, over all its nested blocks.

    A block whose branches wait for their turn always runs one of them, in the slot of the branch
    that contains the block. So nested blocks never wait for each other.
    """

    limit: int
    running: int = 1

    def may_start(self, beside: int) -> bool:
        """Return whether a block with `beside` running branches may start another."""
        return beside == 0 or self.running < self.limit

    def started(self, beside: int) -> None:
        """Count a branch that starts while `beside` others of its block run."""
        if beside:
            self.running += 1

    def ended(self, beside: int) -> None:
        """Count a branch that ends while `beside` others of its block run."""
        if beside:
            self.running -= 1


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
        ended_names, self._done = set(self._done), []
        for name in [name for name in self.running if name in ended_names]:
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


TimeLimit = Callable[[Callable[[], bool]], Coroutine[None, None, bool]]
"""Waits until the time of some branches is up; stopped as soon as what it is given returns True."""


@dataclass(eq=False)
class BranchRunner:
    """Runs the concurrent branches of one run."""

    _branches: Branches
    _pacer: Pacer
    _time_to_stop: Callable[[], float]
    """Returns the seconds that a cancelled run has left."""
    _stopping: int = field(default=0, init=False)

    @property
    def is_stopping(self) -> bool:
        """Whether some branches are being stopped."""
        return self._stopping > 0

    async def run(
        self,
        jobs: Jobs,
        enough: Callable[[Set[str]], bool],
        at_once: int | None,
        limit: TimeLimit | None,
        wake: Callable[[], bool] | None,
        begun: Set[str],
    ) -> Set[str]:
        """Run jobs concurrently until enough have finished, and stop the others.

        Args:
            jobs: the coroutines, by name.
            enough: whether the finished ones are enough.
            at_once: how many run at a time; None for as many as the run may have.
            limit: waits until the time is up; None without a time limit.
            wake: whether a signal ends the wait.
            begun: the branches that come back from an earlier history.

        Returns:
            The names of the finished jobs.
        """
        first = begun if self._exceed(begun) else frozenset[str]()
        group = BranchGroup(jobs, self._branches, self._pacer.pace, first)
        timer = None if limit is None else asyncio.create_task(limit(lambda: group.has_stopped))

        def has_unhandled_end() -> bool:
            return (
                group.has_unhandled_end
                or (timer is not None and timer.done() and not interrupted(timer))
                or (wake is not None and wake())
            )

        over = False  # by the time, or by a signal
        try:
            while group.go_on and not over and not enough(group.finished):
                await self._start(group, at_once, has_unhandled_end)
                if has_unhandled_end():
                    over = not group.ended()
            is_interrupted = group.stopped and not over and not enough(group.finished)
            remaining = await left_of(timer) if is_interrupted else None
        except GeneratorExit:
            raise  # Temporal evicts the run from its cache: nothing can wait any more
        except BaseException as error:
            await self._stop_branches(group, timer, error)
            raise
        if is_interrupted:
            raise Interrupted(remaining)
        await self._stop_branches(group, timer)
        return group.finished

    def _exceed(self, begun: Set[str]) -> bool:
        """Return whether branches come back beside others that have taken their slots.

        One that has its turn in a conversation must not wait for those who wait for that turn.
        """
        return self._branches.running + len(begun) - 1 > self._branches.limit

    async def abandon(self, begun: Sequence[Job]) -> None:
        """Stop the branches of a block that is abandoned: each comes back to its location first.

        Raises:
            CancelledError: all have stopped.
            BaseException: the first failure of a stopped branch.
        """
        error = asyncio.CancelledError()
        self._stopping += 1
        try:
            tasks = [asyncio.create_task(abandon(job)) for job in begun]
            await self._all_ended(tasks)
        finally:
            self._stopping -= 1
        _raise_failure(tasks, error)
        raise error

    async def _start(
        self, group: BranchGroup, at_once: int | None, has_unhandled_end: Callable[[], bool]
    ) -> None:
        """Start some of the branches, and wait until one has ended or others may start."""
        pacer = self._pacer

        def may_go_on() -> bool:
            if not group.wants(at_once):
                return False
            return pacer.pace.may_step() or pacer.renewed() or pacer.idle()

        pacer.begin()
        group.start(at_once)
        await workflow.wait_condition(lambda: has_unhandled_end() or may_go_on())
        if not has_unhandled_end() and not pacer.pace.may_step() and not pacer.renewed():
            await pacer.next_task()

    async def _stop_branches(
        self,
        group: BranchGroup,
        timer: asyncio.Task[bool] | None,
        error: BaseException | None = None,
    ) -> None:
        """Stop the branches that are no longer needed, and wait until all have stopped.

        Args:
            group: the branches, some of which still run.
            timer: their time limit.
            error: the reason to stop them; None if enough have ended.

        Raises:
            BaseException: the first failure of a stopped branch. `error` and the end of a cancelled
            run
                take precedence over an expected failure.
        """
        rest: list[asyncio.Task[Any]] = [*group.running.values()]
        if timer is not None:
            rest.append(timer)
        interrupted = group.interrupted()
        self._stopping += 1
        try:
            for task in rest:
                task.cancel()
            rest += [asyncio.create_task(abandon(job)) for job in interrupted]
            await self._all_ended(rest)
        finally:
            self._stopping -= 1
            group.leave()
        _raise_failure(rest, error)

    async def _all_ended(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Wait until cancelled tasks have stopped, with their `finally` steps.

        When the run itself is cancelled, they have the rest of its time limit. A cancellation that
        arrives in between waits too.
        """
        stopped: asyncio.CancelledError | None = None
        while not all(task.done() for task in tasks):
            try:
                await workflow.wait(tasks)
            except asyncio.CancelledError as error:
                stopped = error
                if workflow.cancellation_reason() is not None:
                    await self._cut_off(tasks)
        if stopped is not None:
            raise stopped

    async def _cut_off(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Wait as long as a cancelled run has time, then cancel again what still runs."""
        remaining = self._time_to_stop()
        if remaining > 0:
            await workflow.wait(tasks, timeout=remaining)
        for task in tasks:
            task.cancel()


def _raise_failure(tasks: Sequence[asyncio.Task[Any]], error: BaseException | None) -> None:
    """Raise the first failure of stopped branches that what ended their block does not replace."""
    for failure in failures(tasks):
        if not is_dropped(failure, error, workflow.cancellation_reason()):
            raise failure
