"""Task trees: the tasks of a run's task graphs, with what they depend on, their status and why."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from coterie.dsl.task_graph.graph_tasks import GRAPH_TASK_STATUSES, GraphTask, GraphTaskStatus
from coterie.dsl.task_graph.task_because import task_because
from coterie.dsl.task_graph.task_schedule import pending_cause
from coterie.text.task_counts import progress_of_tasks
from coterie.workflows.core.progress.progress_kinds import TaskGraphProgress
from coterie.workflows.core.views import TaskGraphView

_MAX_TASKS = 60
"""Tasks that one tree shows; a graph may have thousands."""

_FIRST: Mapping[GraphTaskStatus, int] = {
    "in_progress": 0,
    "failed": 1,
    "blocked": 2,
    "pending": 3,
    "skipped": 4,
    "completed": 5,
}


@dataclass(frozen=True, slots=True)
class TaskNode:
    """One task."""

    id: str
    status: GraphTaskStatus
    because: str
    dependencies: tuple[str, ...] = ()
    """Those that the tree shows."""


class TreeRow(NamedTuple):
    """A task at its place in the tree."""

    node: TaskNode
    depth: int
    parent: str | None
    """The dependency that it stands below."""

    @property
    def also_after(self) -> tuple[str, ...]:
        """Its other dependencies."""
        return tuple(name for name in self.node.dependencies if name != self.parent)


@dataclass(frozen=True, slots=True)
class TaskTree:
    """The tasks of one task graph, as its latest execution left them."""

    step: str
    """`team/path` of its step."""
    counts: Mapping[str, int]
    """`{status: tasks}`; only those that some task has."""
    nodes: tuple[TaskNode, ...]
    """In written order."""
    left_out: int = 0
    """Tasks that are not shown; those in progress and failed come before the others."""

    @property
    def headline(self) -> str:
        """How far it is: `work/plan: 3 of 10 tasks completed, 1 in progress`."""
        text = progress_of_tasks(self.step, self.counts)
        return f"{text}; {self.left_out} not shown" if self.left_out else text

    def rows(self) -> Iterator[TreeRow]:
        """Yield the tasks as a tree: each below the dependency with the longest chain before it."""
        chains = _chains(self.nodes)
        below: dict[str | None, list[TaskNode]] = {}
        for node in self.nodes:
            before = [name for name in node.dependencies if chains[name] < chains[node.id]]
            last = max(reversed(before), key=chains.__getitem__, default=None)
            below.setdefault(last, []).append(node)
        ahead = [TreeRow(node, 0, None) for node in reversed(below.get(None, []))]
        while ahead:
            row = ahead.pop()
            yield row
            inner = below.get(row.node.id, [])
            ahead += [TreeRow(child, row.depth + 1, row.node.id) for child in reversed(inner)]


def task_tree(step: str, progress: TaskGraphProgress, *, over: bool) -> TaskTree:
    """Return the tree of a graph; `over` says whether it has ended."""
    tasks = progress.tasks
    indexes = _most_relevant([task.status for task in tasks])
    tasks_by_id = {task.id: task for task in tasks}
    ids = {tasks[index].id for index in indexes}
    return TaskTree(
        step=step,
        counts=_count_statuses(task.status for task in tasks),
        nodes=tuple(_node(tasks[index], tasks_by_id, ids, over=over) for index in indexes),
        left_out=len(tasks) - len(indexes),
    )


def reported_tree(graph: TaskGraphView) -> TaskTree:
    """Return the tree of a graph as the status of its run shows it: without dependencies."""
    nodes = tuple(TaskNode(task.id, task.status, task.because) for task in graph.tasks)
    counts = {
        status: graph.counts[status] for status in GRAPH_TASK_STATUSES if status in graph.counts
    }
    return TaskTree(graph.step, counts, nodes, graph.left_out)


def _node(
    task: GraphTask, tasks_by_id: Mapping[str, GraphTask], ids: set[str], *, over: bool
) -> TaskNode:
    cause = task.cause
    if cause is None:
        cause = pending_cause(task, tasks_by_id.__getitem__)
        if over and cause.is_ready:
            cause = replace(cause, code="iterations_used_up")
    before = tuple(name for name in task.dependencies if name in ids)
    return TaskNode(task.id, task.status, task_because(cause), before)


def _most_relevant(statuses: Sequence[GraphTaskStatus]) -> list[int]:
    order = sorted(range(len(statuses)), key=lambda index: _FIRST[statuses[index]])
    return sorted(order[:_MAX_TASKS])


def _count_statuses(statuses: Iterable[str]) -> dict[str, int]:
    counts = Counter(statuses)
    return {status: counts[status] for status in GRAPH_TASK_STATUSES if counts[status]}


def _chains(nodes: Sequence[TaskNode]) -> dict[str, int]:
    """Return how many tasks come one after the other before each one; a graph has no cycle."""
    lengths: dict[str, int] = {}
    waiting = list(nodes)
    while waiting:
        ready = [node for node in waiting if all(name in lengths for name in node.dependencies)]
        if not ready:  # only in a forged history
            return {node.id: 0 for node in nodes}
        for node in ready:
            before = (lengths[name] + 1 for name in node.dependencies)
            lengths[node.id] = max(before, default=0)
        waiting = [node for node in waiting if node.id not in lengths]
    return lengths
