"""Task trees: the tasks of a run's task graphs, with what they depend on, their status and why."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from coterie.dsl.task_graph.graph_tasks import (
    GRAPH_TASK_STATUSES,
    GraphTask,
    GraphTaskStatus,
    most_relevant,
)
from coterie.dsl.task_graph.task_because import task_because
from coterie.dsl.task_graph.task_schedule import pending_cause
from coterie.text.task_signs import progress_of_tasks
from coterie.workflows.core.progress.progress_kinds import TaskGraphProgress
from coterie.workflows.core.views import TaskGraphView

_MAX_TASKS = 60
"""Tasks that one tree shows; a graph may have thousands."""


@dataclass(frozen=True, slots=True)
class TaskNode:
    """One task."""

    id: str
    status: GraphTaskStatus
    because: str
    dependencies: tuple[str, ...] = ()
    """Those that the tree shows."""
    number: str | None = None
    """Its number in the graph, which is part of the names of its steps; None if it is unknown."""


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


@dataclass(slots=True)
class TaskTree:
    """The tasks of one task graph, as its latest execution left them."""

    step: str
    """`team/path` of its step."""
    nodes: dict[str, TaskNode] = field(default_factory=dict[str, TaskNode])
    """By their ids; in written order, if all are there."""
    left_out: Counter[str] = field(default_factory=Counter[str])
    """`{status: tasks}` of those that are not shown; tasks in progress and failed come first."""

    @property
    def counts(self) -> dict[str, int]:
        """How many tasks have each status; only those that some task has."""
        counts = Counter(node.status for node in self.nodes.values()) + self.left_out
        return {status: counts[status] for status in GRAPH_TASK_STATUSES if counts[status]}

    @property
    def headline(self) -> str:
        """How far it is: `work/plan: 3 of 10 tasks completed, 1 in progress`."""
        text = progress_of_tasks(self.step, self.counts)
        return f"{text}; {self.left_out.total()} not shown" if self.left_out else text

    def take(self, graph: TaskGraphView) -> None:
        """Take the tasks as the status of the run shows them."""
        nodes = dict(self.nodes) if graph.left_out else {}
        for task in graph.tasks:
            node = self.nodes.get(task.id, TaskNode(task.id, task.status, task.because))
            nodes[task.id] = replace(node, status=task.status, because=task.because)
        self.nodes = nodes
        self.left_out = Counter(graph.counts) - Counter(node.status for node in nodes.values())

    def put(self, node: TaskNode) -> None:
        """Take one task as the trail tells it; one that nobody has seen was pending before."""
        if node.id not in self.nodes:
            self.left_out -= Counter(pending=1)
        self.nodes[node.id] = node

    def rows(self) -> Iterator[TreeRow]:
        """Yield the tasks as a tree: each below the dependency with the longest chain before it."""
        chains = _chains(list(self.nodes.values()))
        below: dict[str | None, list[TaskNode]] = {}
        for node in self.nodes.values():
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
    tasks_by_id = {task.id: task for task in tasks}
    ids = {tasks[index].id for index in most_relevant(tasks, _MAX_TASKS)}
    return TaskTree(
        step,
        {
            id: _node(task, tasks_by_id, ids, over=over)
            for id, task in tasks_by_id.items()
            if id in ids
        },
        Counter(task.status for task in tasks if task.id not in ids),
    )


def reported_tree(graph: TaskGraphView) -> TaskTree:
    """Return the tree of a graph as the status of its run shows it: without dependencies."""
    tree = TaskTree(graph.step)
    tree.take(graph)
    return tree


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
