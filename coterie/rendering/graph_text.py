"""Format task graphs in progress: a line for each graph and for each task, with its status."""

from collections.abc import Iterator, Mapping

from dsl.task_graph.graph_tasks import GraphTaskStatus
from dsl.visible import one_line
from workflows.core.views import TaskGraphView

_MARKS: Mapping[GraphTaskStatus, str] = {
    "completed": "✓",
    "in_progress": "▶",
    "pending": "⋯",
    "failed": "✗",
    "blocked": "■",
    "skipped": "-",
}


def graph_line(graph: TaskGraphView) -> str:
    """Format how far a graph is: `work/plan: 3 of 10 tasks completed, 1 in progress`."""
    total = sum(graph.counts.values())
    done = graph.counts.get("completed", 0)
    others = [
        f"{number} {status.replace('_', ' ')}"
        for status, number in graph.counts.items()
        if status != "completed"
    ]
    return ", ".join((f"{one_line(graph.step)}: {done} of {total} tasks completed", *others))


def task_lines(graph: TaskGraphView) -> Iterator[str]:
    """Yield a line for each task: its mark, its id, its status and why it has it."""
    for task in graph.tasks:
        state = task.status.replace("_", " ").upper()
        yield f"{_MARKS[task.status]} {one_line(task.id)} [{state}] {one_line(task.because)}"
    if graph.left_out:
        yield f"and {graph.left_out} more"
