"""Task schedule: which tasks may start, in which order, and what an end means for the others.

The tasks hold all that must be kept; a schedule made from them again decides the same. Every event
costs the dependencies of its task, and never a look at all tasks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush

from coterie.dsl.model.outcomes import Failure
from coterie.dsl.model.step_kinds.task_graph_step import TaskOrder
from coterie.dsl.task_graph.graph_tasks import GRAPH_TASK_STATUSES, GraphTask, GraphTaskStatus
from coterie.dsl.task_graph.task_causes import (
    GraphTaskBlocked,
    GraphTaskEnded,
    GraphTaskStarted,
    GraphTaskWaits,
)
from coterie.dsl.values import Json

_MAX_NAMED = 3


class TaskSchedule:
    """The schedule of one graph, which changes its tasks in place."""

    def __init__(self, tasks: list[GraphTask], order: TaskOrder) -> None:
        self.tasks = tasks
        self.counts: dict[GraphTaskStatus, int] = dict.fromkeys(GRAPH_TASK_STATUSES, 0)
        self.index: dict[str, int] = {}
        """`{id: number of the task}`."""
        self.shown: dict[int, Json] = {}
        """`{number of the task: as templates see it}`, for those that have not changed since."""
        self._by_path = order == "critical_path"
        self._dependents: list[list[int]] = []
        self._waits: list[int] = []
        """How many dependencies of each task have yet to end."""
        self._heights: list[int] = []
        """The longest chain of tasks that depend on each one; only on the critical path."""
        self._ready: set[int] = set()
        self._heap: list[tuple[int, int]] = []
        self._enter(0)

    @property
    def is_over(self) -> bool:
        """Whether no task can start, and none is in progress."""
        return not self._ready and not self.counts["in_progress"]

    @property
    def ready(self) -> int:
        """How many tasks may start."""
        return len(self._ready)

    def available(self) -> list[int]:
        """Return the tasks that may start, in the order of the graph."""
        return [index for _, index in sorted(map(self._rank, self._ready))]

    def first(self) -> int:
        """Return the first task that may start.

        Raises:
            IndexError: none may.
        """
        while self._heap[0][1] not in self._ready:
            heappop(self._heap)
        return self._heap[0][1]

    def is_ready(self, index: int) -> bool:
        """Whether a task may start."""
        return index in self._ready

    def in_progress(self) -> list[int]:
        """Return the tasks that have started and not ended, in written order."""
        return [n for n, task in enumerate(self.tasks) if task.status == "in_progress"]

    def start(self, index: int, cause: GraphTaskStarted) -> None:
        """Start a task that may start."""
        self._ready.remove(index)
        self._put(index, "in_progress", cause)

    def end(self, index: int, status: GraphTaskStatus, cause: GraphTaskEnded) -> list[int]:
        """End a task.

        Returns:
            The tasks that are blocked, because it failed.
        """
        self._put(index, status, cause)
        task = self.tasks[index]
        if task.status == "failed":
            return list(self._block(index, task.id))
        for dependent in self._dependents[index]:
            self._waits[dependent] -= 1
            self._offer(dependent)
        return []

    def changed(self, index: int) -> None:
        """Note that a task is not as templates saw it."""
        self.shown.pop(index, None)

    def stop(self, failure: Failure | None, stopped_by: str) -> None:
        """Skip every task that has not ended, since a task or the choice failed."""
        for index, task in enumerate(self.tasks):
            if not task.has_ended:
                cause = GraphTaskEnded("graph_stopped", task.id, task.attempts, failure)
                self._put(index, "skipped", replace(cause, stopped_by=stopped_by))
        self._ready.clear()

    def add(self, tasks: Sequence[GraphTask]) -> list[int]:
        """Add tasks, which depend on each other and on those that are there.

        Returns:
            The tasks among them that are blocked, because what they depend on failed.
        """
        first = len(self.tasks)
        self.tasks.extend(tasks)
        return self._enter(first)

    def waits_for(self, index: int, *, used_up: bool = False) -> GraphTaskWaits:
        """Why a task is pending."""
        cause = pending_cause(self.tasks[index], lambda name: self.tasks[self.index[name]])
        return replace(cause, code="iterations_used_up") if used_up and cause.is_ready else cause

    def _enter(self, first: int) -> list[int]:
        """Take in the tasks from a number on."""
        new = range(first, len(self.tasks))
        for index in new:
            task = self.tasks[index]
            self.index[task.id] = index
            self.counts[task.status] += 1
            self._dependents.append([])
            self._heights.append(0)
            self._waits.append(0)
        for index in new:
            for name in self.tasks[index].dependencies:
                dependency = self.index[name]
                self._dependents[dependency].append(index)
                self._waits[index] += not self.tasks[dependency].is_satisfied
        if self._by_path:
            self._measure(first)
        blocked: list[int] = []
        for index in new:
            blocked += self._inherit(index)
            self._offer(index)
        return blocked

    def _inherit(self, index: int) -> list[int]:
        """Block a task whose dependency has failed already, and what depends on it."""
        task = self.tasks[index]
        if task.status != "pending":
            return []
        for name in task.dependencies:
            before = self.tasks[self.index[name]]
            if before.status in ("failed", "blocked"):
                failed = before.cause.failed if isinstance(before.cause, GraphTaskBlocked) else name
                self._put(index, "blocked", GraphTaskBlocked("task_blocked", task.id, name, failed))
                return [index, *self._block(index, failed)]
        return []

    def _block(self, start: int, failed: str) -> Iterator[int]:
        """Block every task that depends on one, directly or not."""
        stack = [start]
        while stack:
            before = stack.pop()
            for index in self._dependents[before]:
                task = self.tasks[index]
                if task.status == "pending":
                    cause = GraphTaskBlocked("task_blocked", task.id, self.tasks[before].id, failed)
                    self._put(index, "blocked", cause)
                    stack.append(index)
                    yield index

    def _put(
        self,
        index: int,
        status: GraphTaskStatus,
        cause: GraphTaskStarted | GraphTaskEnded | GraphTaskBlocked,
    ) -> None:
        task = self.tasks[index]
        self.counts[task.status] -= 1
        self.counts[status] += 1
        task.status = status
        task.cause = cause
        for changed in (index, *self._dependents[index]):  # which may wait for one task less
            self.changed(changed)

    def _offer(self, index: int) -> None:
        """Let a task start that waits for nothing."""
        if not self._waits[index] and self.tasks[index].status == "pending":
            self._ready.add(index)
            heappush(self._heap, self._rank(index))

    def _rank(self, index: int) -> tuple[int, int]:
        return -self._heights[index], index

    def _measure(self, first: int) -> None:
        """Measure the chains that begin at new tasks, and raise those before them."""
        inner = {index: len(self._dependents[index]) for index in range(first, len(self.tasks))}
        stack = [index for index, count in inner.items() if not count]
        older: list[int] = []
        while stack:
            index = stack.pop()
            for dependency in self._before(index):
                raised = self._raise(dependency, self._heights[index] + 1)
                if dependency < first:
                    older += [dependency] if raised else []
                    continue
                inner[dependency] -= 1
                if not inner[dependency]:
                    stack.append(dependency)
        while older:
            index = older.pop()
            older += [
                dependency
                for dependency in self._before(index)
                if self._raise(dependency, self._heights[index] + 1)
            ]

    def _before(self, index: int) -> Iterator[int]:
        """Return the tasks before one; none if it has started, so they have ended."""
        if self.tasks[index].status not in ("pending", "blocked"):
            return iter(())
        return (self.index[name] for name in self.tasks[index].dependencies)

    def _raise(self, index: int, height: int) -> bool:
        """Whether the chain behind a task has become longer."""
        if self._heights[index] >= height:
            return False
        self._heights[index] = height
        if index in self._ready:
            heappush(self._heap, self._rank(index))
        return True


def pending_cause(task: GraphTask, of: Callable[[str], GraphTask]) -> GraphTaskWaits:
    """Return why a task is pending; `of` gives the task with an id."""
    missing = [name for name in task.dependencies if not of(name).is_satisfied]
    if not missing:
        return GraphTaskWaits("task_ready", task.id)
    named = tuple(missing[:_MAX_NAMED])
    return GraphTaskWaits("task_waits", task.id, named, len(missing) - len(named))
