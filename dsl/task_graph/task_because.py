"""Because: causes and notes of task graphs as people read them. The one place that words them."""

from typing import assert_never

from coterie.dsl.model.outcomes import Failure
from coterie.dsl.task_graph.graph_tasks import TaskNote
from coterie.dsl.task_graph.task_causes import (
    GraphTaskBlocked,
    GraphTaskCause,
    GraphTaskEnded,
    GraphTaskStarted,
    GraphTaskWaits,
)

_MAX_SHOWN = 60


def task_because(cause: GraphTaskCause) -> str:
    """Why a task has its status, in words."""
    task = _task_name(cause.task)
    match cause:
        case GraphTaskStarted(code="task_next", available=available):
            first = "the only task that is available" if available == 1 else "the first"
            return (
                f"{task} is {first}{'' if available == 1 else f' of {available} available tasks'}"
            )
        case GraphTaskStarted(code="task_chosen", available=available):
            return f"{task} was chosen from {available} available tasks"
        case GraphTaskStarted(code="choice_failed", failure=failure):
            return f"{task} is the first available task; the choice failed:{_failure(failure)}"
        case GraphTaskStarted(choice=""):
            return f"{task} is the first available task; nothing was chosen"
        case GraphTaskStarted(choice=choice):
            return (
                f"{task} is the first available task; {_task_name(choice)}, the choice, is not one"
            )
        case GraphTaskEnded():
            return _end_because(cause, task)
        case GraphTaskBlocked(dependency=dependency, failed=failed):
            if dependency == failed:
                return f"{task} depends on {_task_name(failed)}, which failed"
            before = f"{_task_name(dependency)}, which is blocked since {_task_name(failed)} failed"
            return f"{task} depends on {before}"
        case GraphTaskWaits():
            return _waiting(cause, task)
        case _:
            assert_never(cause)


def _end_because(cause: GraphTaskEnded, task: str) -> str:
    failure = _failure(cause.failure)
    attempts = "" if cause.attempts == 1 else f" after {cause.attempts} attempts"
    match cause.code:
        case "task_completed":
            return f"{task} succeeded{attempts}"
        case "task_recovered":
            return f"{task} failed{attempts}, and on_failed_task succeeded; it failed with{failure}"
        case "task_failed":
            recovery = "" if cause.recovery is None else "; on_failed_task failed:"
            return f"{task} failed{attempts}:{failure}{recovery}{_failure(cause.recovery)}"
        case "task_passed_over":
            return f"on_failed_task skips {task}, which failed{attempts}:{failure}"
        case "task_skipped":
            return f"a person skipped {task}"
        case "graph_stopped":
            stopped_by = _task_name(cause.stopped_by) if cause.stopped_by else "its choice"
            return f"{stopped_by} stopped the graph before {task} ended:{failure}"
        case _:
            assert_never(cause.code)


def _failure(failure: Failure | None) -> str:
    return "" if failure is None else f" {failure.type}: {failure.message}"


def _waiting(cause: GraphTaskWaits, task: str) -> str:
    match cause.code:
        case "task_waits":
            more = f" and {cause.more} more" if cause.more else ""
            return f"{task} waits for {', '.join(map(_task_name, cause.dependencies))}{more}"
        case "task_ready":
            return f"{task} is available"
        case "iterations_used_up":
            return f"max_iterations was reached before {task} could start"
        case _:
            assert_never(cause.code)


def note_words(note: TaskNote) -> str:  # noqa: C901  # one case a code
    """Return what the validation changed, in words."""
    task, other = _task_name(note.task), _task_name(note.other)
    match note.code:
        case "not_a_task":
            return f"{note.task} is not a mapping ({other}), and was left out"
        case "id_missing":
            return f"a task without an id is called {task}"
        case "id_unusable":
            return f"the id {other} is not a text, so the task is called {task}"
        case "id_shortened":
            return f"the id {task} was longer, and was cut"
        case "duplicate_id":
            return f"the second task {other} is called {task}"
        case "dependencies_unusable":
            return f"the dependencies of {task} are not a list ({other}), and were dropped"
        case "unknown_dependency":
            return f"{task} depends on {other}, which does not exist; the dependency was dropped"
        case "cycle_broken":
            return f"the dependency of {task} on {other} closed a cycle, and was dropped"
        case "too_many_tasks":
            return f"{task} was left out: the graph has its maximum number of tasks"
        case "tasks_too_large":
            return f"{task} was left out: the tasks of the graph are too large together"
        case "depends_on_refused":
            return f"{task} was left out, because it depends on a task that was left out"
        case _:
            assert_never(note.code)


def _task_name(id: str) -> str:
    return repr(id if len(id) <= _MAX_SHOWN else f"{id[:_MAX_SHOWN]}...")
