"""Word how far a task graph is."""

from collections.abc import Iterator, Mapping

from coterie.dsl.task_graph.graph_tasks import GRAPH_TASK_STATUSES, GraphTaskStatus
from coterie.dsl.visible import one_line
from coterie.workflows.core.views import TaskGraphView

TASK_MARKS: Mapping[GraphTaskStatus, str] = {
    "completed": "✓",
    "in_progress": "▶",
    "pending": "⋯",
    "failed": "✗",
    "blocked": "■",
    "skipped": "-",
}
"""A sign for each status of a task."""


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
        yield f"{TASK_MARKS[task.status]} {one_line(task.id)} [{state}] {one_line(task.because)}"
    if graph.left_out:
        yield f"and {graph.left_out} more"
