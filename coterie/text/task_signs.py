"""The signs of the tasks of a task graph, and the words for how far it is."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from coterie.dsl.task_graph.graph_tasks import GRAPH_TASK_STATUSES, GraphTaskStatus
from coterie.dsl.visible import one_line
from coterie.workflows.core.views import TaskGraphView


class TaskSign(NamedTuple):
    """How the status of a task looks."""

    text: str
    color: str
    """On a terminal."""
    mark: Literal["success", "doing", "pending", "failure", "blocked", "skipped"]
    """In a picture: that of a step with the same meaning."""


TASK_SIGNS: Mapping[GraphTaskStatus, TaskSign] = {
    "completed": TaskSign("✓", "green", "success"),
    "in_progress": TaskSign("▶", "cyan", "doing"),
    "pending": TaskSign("⋯", "dim", "pending"),
    "failed": TaskSign("✗", "red", "failure"),
    "blocked": TaskSign("■", "yellow", "blocked"),
    "skipped": TaskSign("-", "dim", "skipped"),
}


def progress_of_tasks(step: str, counts: Mapping[str, int]) -> str:
    """Word the counts of a graph: `work/plan: 3 of 10 tasks completed, 1 in progress`."""
    others = [
        f"{counts[status]} {status.replace('_', ' ')}"
        for status in GRAPH_TASK_STATUSES
        if status != "completed" and counts.get(status)
    ]
    summary = f"{counts.get('completed', 0)} of {sum(counts.values())} tasks completed"
    return ", ".join((f"{one_line(step)}: {summary}", *others))


def graph_line(graph: TaskGraphView) -> str:
    """Format how far a graph is: `work/plan: 3 of 10 tasks completed, 1 in progress`."""
    return progress_of_tasks(graph.step, graph.counts)


def task_lines(graph: TaskGraphView) -> Iterator[str]:
    """Yield a line for each task: its mark, its id, its status and why it has it."""
    for task in graph.tasks:
        state = task.status.replace("_", " ").upper()
        sign = TASK_SIGNS[task.status].text
        yield f"{sign} {one_line(task.id)} [{state}] {one_line(task.because)}"
    if graph.left_out:
        yield f"and {graph.left_out} more"
