"""Word how far a task graph is."""

from collections.abc import Mapping

from coterie.dsl.task_graph.graph_tasks import GRAPH_TASK_STATUSES, GraphTaskStatus
from coterie.dsl.visible import one_line

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
    done = f"{counts.get('completed', 0)} of {sum(counts.values())} tasks completed"
    return ", ".join((f"{one_line(step)}: {done}", *others))
