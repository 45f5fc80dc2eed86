"""Tasks of a task graph: their own JSON, and the status of each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, cast, get_args

from pydantic import JsonValue

from coterie.dsl.model.template_bound import MAX_GRAPH_TASKS
from coterie.dsl.task_graph.task_causes import GraphTaskCause
from coterie.dsl.values import Json

GraphTaskStatus = Literal["pending", "in_progress", "completed", "failed", "blocked", "skipped"]
GRAPH_TASK_STATUSES: tuple[GraphTaskStatus, ...] = get_args(GraphTaskStatus)

_RELEVANCE: tuple[GraphTaskStatus, ...] = (
    "in_progress",
    "failed",
    "blocked",
    "pending",
    "skipped",
    "completed",
)
"""Which tasks of a large graph are shown first."""

MAX_TASKS = MAX_GRAPH_TASKS
"""Tasks of one graph, whatever its `max_tasks`."""

MAX_TASKS_SIZE = 1_000_000
"""Bytes of JSON of all tasks of a graph: half of what a run that continues as new may carry."""

MAX_RESULTS_SIZE = 500_000
"""Bytes of JSON of the results that a graph keeps; above it, the earliest ones are dropped."""


@dataclass(slots=True)
class GraphTask:
    """One task: what was planned, and how far it has come."""

    value: Json
    """The task's own JSON; its `id` is a text, its `dependencies` are ids of the graph."""
    status: GraphTaskStatus = "pending"
    attempts: int = 0
    """Attempts that have started."""
    cause: GraphTaskCause | None = None
    """Why it has its status; None while it is pending."""
    data: JsonValue = None
    """Its result."""
    dropped: bool = False
    """Its result had no room."""

    @property
    def id(self) -> str:
        """Its id, unique in the graph."""
        return cast("str", self.value["id"])

    @property
    def dependencies(self) -> list[str]:
        """The ids of the tasks that must end before it starts."""
        return cast("list[str]", self.value["dependencies"])

    @property
    def has_ended(self) -> bool:
        """Whether its status is final."""
        return self.status not in ("pending", "in_progress")

    @property
    def is_satisfied(self) -> bool:
        """Whether what depends on it may start."""
        return self.status in ("completed", "skipped")


def most_relevant(tasks: Sequence[GraphTask], limit: int) -> list[int]:
    """Return the indexes of the tasks to show of a graph, in written order."""
    order = sorted(range(len(tasks)), key=lambda index: _RELEVANCE.index(tasks[index].status))
    return sorted(order[:limit])


@dataclass(frozen=True, slots=True)
class TaskNote:
    """What the validation changed in a list of tasks."""

    code: Literal[
        "not_a_task",
        "id_missing",
        "id_unusable",
        "id_shortened",
        "duplicate_id",
        "dependencies_unusable",
        "unknown_dependency",
        "cycle_broken",
        "too_many_tasks",
        "tasks_too_large",
        "depends_on_refused",
    ]
    task: str
    """Its id in the graph; `item 3` for an item that is not a task."""
    other: str = ""
    """The id or dependency that was written."""


MAX_NOTES = 50
"""Notes that a graph keeps."""


@dataclass(slots=True)
class TaskNotes:
    """The notes of one graph, the first ones whole and the others counted."""

    kept: list[TaskNote] = field(default_factory=list[TaskNote])
    more: int = 0

    def add(self, note: TaskNote) -> None:
        """Keep a note, or count it."""
        if len(self.kept) < MAX_NOTES:
            self.kept.append(note)
        else:
            self.more += 1
