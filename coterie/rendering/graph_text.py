"""Format task graphs in progress: a line for each graph and for each task, with its status."""

from collections.abc import Iterator

from coterie.dsl.visible import one_line
from coterie.text.task_counts import TASK_MARKS, progress_of_tasks
from coterie.workflows.core.views import TaskGraphView


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
