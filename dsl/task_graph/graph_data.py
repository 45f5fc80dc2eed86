"""Graph data: what templates read of a task graph while it runs, and what its step comes to."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.model.retryability import hardest
from coterie.dsl.task_graph.graph_tasks import GraphTask, TaskNotes
from coterie.dsl.task_graph.task_because import note_words, task_because
from coterie.dsl.task_graph.task_causes import GraphTaskEnded
from coterie.dsl.task_graph.task_schedule import TaskSchedule
from coterie.dsl.values import Json, JsonValue
from coterie.dsl.visible import shortened_text

FAILED_TASKS = "TasksFailed"
"""The type of the failure of a graph with failed tasks."""

_MAX_NAMED = 5
_MAX_MESSAGE_LENGTH = 2000


class GraphTotals(NamedTuple):
    """What a graph has counted besides its tasks."""

    iterations: int
    dropped: int = 0
    """Results without room."""


class GraphView(Json):
    """What the steps of a graph read as `graph`.

    Its large parts share the tasks with other views, so hundreds of them take little memory. They
    do not travel when the run continues as new: `carried` leaves them out, `restored` adds them.
    """

    def __init__(self, values: Json, graph: str, task: int | None) -> None:
        super().__init__(values)
        self._graph = graph
        self._task = task

    def carried(self) -> Json:
        """Return what travels."""
        fields: Json = {name: self[name] for name in ("iteration", "error")}
        return {**fields, _TRAVELS: {"graph": self._graph, "task": self._task}}


_TRAVELS = "restored_from"


def graph_view(
    schedule: TaskSchedule,
    fields: frozenset[str],
    graph: str,
    iteration: int,
    task: int | None,
    error: Failure | None,
) -> GraphView:
    """Return what the steps of a graph read as `graph`; of large parts, only those in `fields`.

    Args:
        schedule: The schedule of the graph.
        fields: The fields that some template of the graph reads.
        graph: The place of the graph.
        iteration: The number of the attempt, from 1.
        task: The number of the task of the steps; None for those that choose one.
        error: The failure of the task's latest attempt.
    """
    small: Json = {"iteration": iteration, "error": _error(error)}
    return GraphView(small | _large_parts(schedule, fields, task), graph, task)


def restored(
    value: JsonValue, schedule: TaskSchedule, fields: frozenset[str], graph: str
) -> GraphView | None:
    """Return a view that has travelled, as the graph is now; None if it is not of this graph."""
    match value:
        case {"restored_from": {"graph": str(of), "task": int() | None as task}} if of == graph:
            small: Json = {name: value[name] for name in ("iteration", "error")}
            return GraphView(small | _large_parts(schedule, fields, task), graph, task)
        case _:
            return None


def _large_parts(schedule: TaskSchedule, fields: frozenset[str], task: int | None) -> Json:
    view: Json = {}
    if "available" in fields:
        view["available"] = [schedule.tasks[index].value for index in schedule.available()]
    if "tasks" in fields:
        view["tasks"] = [_task_data(schedule, index) for index in range(len(schedule.tasks))]
    if "dependencies" in fields:
        names = () if task is None else schedule.tasks[task].dependencies
        view["dependencies"] = {name: schedule.tasks[schedule.index[name]].data for name in names}
    return view


def _task_data(schedule: TaskSchedule, index: int) -> Json:
    """Return a task with its status, made once until either changes."""
    view = schedule.shown.get(index)
    if view is None:
        standing = _standing(schedule, index)
        view = schedule.shown[index] = {**schedule.tasks[index].value, **standing}
    return view


def _error(error: Failure | None) -> JsonValue:
    return None if error is None else {"type": error.type, "message": error.message}


def _standing(schedule: TaskSchedule, index: int, *, used_up: bool = False) -> Json:
    task = schedule.tasks[index]
    cause = task.cause or schedule.waits_for(index, used_up=used_up)
    return {
        "status": task.status,
        "because": task_because(cause),
        "attempts": task.attempts,
        "data": task.data,
    }


def graph_outcome(
    schedule: TaskSchedule, notes: TaskNotes, totals: GraphTotals, failure: Failure | None
) -> Outcome:
    """Return the outcome of the step of a graph.

    Args:
        schedule: The schedule of a graph in which nothing runs any more.
        notes: What the validation of its tasks changed.
        totals: Its other counts.
        failure: Why the graph stopped early; None when no task could start any more.
    """
    tasks: list[JsonValue] = [
        {"id": task.id, **_standing(schedule, index, used_up=True)}
        for index, task in enumerate(schedule.tasks)
    ]
    counts: Json = dict(schedule.counts.items())
    data: Json = {
        "tasks": tasks,
        "counts": counts,
        "iterations": totals.iterations,
        "completed": schedule.counts["completed"] == len(tasks),
        "notes": _notes(notes),
    }
    if totals.dropped:
        data["dropped"] = totals.dropped
    root = ""
    if failure is None and schedule.counts["failed"]:
        failure = Failure(FAILED_TASKS, _message(schedule.tasks, schedule.counts["blocked"]))
        root = hardest(_failed_by(schedule.tasks))
    if failure is None:
        return Outcome.succeeded(data)
    return Outcome("failure", data, failure, root=root)


def _failed_by(tasks: Sequence[GraphTask]) -> Iterator[str]:
    """Yield the types of failure of the tasks that failed."""
    for task in tasks:
        match task.cause:
            case GraphTaskEnded("task_failed", recovery=Failure(type=error)):
                yield error
            case GraphTaskEnded("task_failed", failure=Failure(type=error)):
                yield error
            case _:
                pass


def _notes(notes: TaskNotes) -> list[JsonValue]:
    more = [f"and {notes.more} more"] if notes.more else []
    return [*map(note_words, notes.kept), *more]


def _message(tasks: Sequence[GraphTask], blocked: int) -> str:
    failed = [task.cause for task in tasks if task.status == "failed"]
    words = [
        task_because(cause) for cause in failed[:_MAX_NAMED] if isinstance(cause, GraphTaskEnded)
    ]
    more = f"; and {len(failed) - _MAX_NAMED} more" if len(failed) > _MAX_NAMED else ""
    rest = f"; blocked: {blocked}" if blocked else ""
    count = f"{len(failed)} of {len(tasks)} tasks failed"
    return shortened_text(f"{count}: {'; '.join(words)}{more}{rest}", _MAX_MESSAGE_LENGTH)
