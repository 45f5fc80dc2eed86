"""Graph data: what templates read of a task graph while it runs, and what its step comes to."""

from collections.abc import Sequence
from typing import NamedTuple

from dsl.model.outcomes import Failure, Outcome
from dsl.task_graph.graph_tasks import GraphTask, TaskNotes
from dsl.task_graph.task_because import note_words, task_because
from dsl.task_graph.task_causes import GraphTaskEnded
from dsl.task_graph.task_schedule import TaskSchedule
from dsl.values import Json, JsonValue

FAILED_TASKS = "TasksFailed"
"""The type of the failure of a graph with failed tasks."""

_MAX_NAMED = 5
_MAX_MESSAGE_LENGTH = 2000


class GraphTotals(NamedTuple):
    """What a graph has counted besides its tasks."""

    iterations: int
    dropped: int = 0
    """Results without room."""


def graph_view(
    schedule: TaskSchedule,
    fields: frozenset[str],
    iteration: int,
    task: GraphTask | None,
    error: Failure | None,
) -> Json:
    """Return what the steps of a graph read as `graph`; of large parts, only those in `fields`.

    Args:
        schedule: The schedule of the graph.
        fields: The fields that some template of the graph reads.
        iteration: The number of the attempt, from 1.
        task: The task of the steps; None for those that choose one.
        error: The failure of the task's latest attempt.
    """
    view: Json = {"iteration": iteration, "error": _error(error)}
    if "available" in fields:
        view["available"] = [schedule.tasks[one].value for one in schedule.available()]
    if "tasks" in fields:
        view["tasks"] = [
            {**task.value, **_standing(schedule, index)}
            for index, task in enumerate(schedule.tasks)
        ]
    if "dependencies" in fields:
        names = () if task is None else task.dependencies
        view["dependencies"] = {name: schedule.tasks[schedule.index[name]].data for name in names}
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
    if failure is None and schedule.counts["failed"]:
        failure = Failure(FAILED_TASKS, _message(schedule.tasks, schedule.counts["blocked"]))
    return Outcome.succeeded(data) if failure is None else Outcome("failure", data, failure)


def _notes(notes: TaskNotes) -> list[JsonValue]:
    more = [f"and {notes.more} more"] if notes.more else []
    return [*map(note_words, notes.kept), *more]


def _message(tasks: Sequence[GraphTask], blocked: int) -> str:
    failed = [task.cause for task in tasks if task.status == "failed"]
    words = [task_because(one) for one in failed[:_MAX_NAMED] if isinstance(one, GraphTaskEnded)]
    more = f"; and {len(failed) - _MAX_NAMED} more" if len(failed) > _MAX_NAMED else ""
    rest = f"; blocked: {blocked}" if blocked else ""
    count = f"{len(failed)} of {len(tasks)} tasks failed"
    return f"{count}: {'; '.join(words)}{more}{rest}"[:_MAX_MESSAGE_LENGTH]
