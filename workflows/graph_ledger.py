"""Graph ledger: how the tasks of a task graph end, what they leave, and which tasks they add."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic import JsonValue

from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.model.steps import TaskGraphStep
from coterie.dsl.model.template_bound import number_of
from coterie.dsl.sizes import check_size, json_size
from coterie.dsl.task_graph.graph_data import GraphTotals, graph_outcome
from coterie.dsl.task_graph.graph_tasks import (
    MAX_RESULTS_SIZE,
    MAX_TASKS,
    MAX_TASKS_SIZE,
    GraphTaskStatus,
)
from coterie.dsl.task_graph.task_causes import EndCode, GraphTaskEnded, GraphTaskStarted
from coterie.dsl.task_graph.task_reading import read_tasks
from coterie.dsl.task_graph.task_schedule import TaskSchedule
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.visible import shortened_text
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.progress_kinds import TaskGraphProgress
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import note_step

_TASKS_A_STEP = 400
"""Tasks that take as long to read as a step."""

_MAX_MESSAGE_LENGTH = 500
"""Characters of the failure of a task, of which there may be thousands."""

_MAX_BLOCKED_NOTED = 20
"""Tasks that one failure blocks and that the trail names."""


class GraphLedger:
    """Keep the state, the schedule and the trail of one graph in progress."""

    def __init__(
        self, step: TaskGraphStep, location: Location, scope: Scope, progress: TaskGraphProgress
    ) -> None:
        self.progress = progress
        self.schedule = TaskSchedule(progress.tasks, step.order)
        progress.counts = self.schedule.counts
        self.failure: Failure | None = None
        """Why the graph stops before its end."""
        self._stopped_by = ""
        self._step = step
        self._location = location
        self._scope = scope

    @property
    def has_stopped(self) -> bool:
        """Whether no task may start or continue."""
        return self.failure is not None

    def is_used_up(self, more: int = 0) -> bool:
        """Return whether no attempt may start, when some others are about to."""
        maximum = self._step.max_iterations
        return maximum is not None and self.progress.iterations + more >= number_of(maximum)

    def start(self, cause: GraphTaskStarted) -> int:
        """Start a task; return its number."""
        index = self.schedule.index[cause.task]
        cause = replace(cause, failure=_short(cause.failure))
        self.schedule.start(index, cause)
        note_step(self._scope, self._location.at(str(index)), "started", cause)
        return index

    def end(self, index: int, outcome: Outcome, *, recovered: bool, error: Failure | None) -> None:
        """End a task: keep its result, and block what depends on it if it failed.

        Args:
            index: The number of the task.
            outcome: What the task came to; skipped if a person skipped it.
            recovered: Whether the outcome is of the steps of `on_failed_task`.
            error: Why its last attempt failed.
        """
        task = self.schedule.tasks[index]
        status: GraphTaskStatus = "completed"
        code: EndCode = "task_recovered" if recovered else "task_completed"
        if outcome.status == "skipped":
            status, code = "skipped", "task_skipped"
        elif outcome.error is not None and self._step.on_failed_task == "skip":
            status, code = "skipped", "task_passed_over"
        elif outcome.error is not None:
            status, code = "failed", "task_failed"
        if self._step.on_failed_task == "stop" and outcome.error is not None:
            self.failure, self._stopped_by = outcome.error, task.id
        failure, recovery = (error, outcome.error) if recovered else (outcome.error or error, None)
        cause = GraphTaskEnded(code, task.id, task.attempts, _short(failure), _short(recovery))
        self._keep(index, outcome.data)
        blocked = self.schedule.end(index, status, cause)
        note_step(self._scope, self._location.at(str(index)), status, cause)
        self._note_blocked(blocked)

    def add(self, items: Sequence[JsonValue]) -> None:
        """Add the tasks that a body has proposed, if there is room for them."""
        if not items:
            return
        progress = self.progress
        added = read_tasks(
            items,
            self.schedule.index,
            progress.notes,
            room=maximum_tasks(self._step) - len(progress.tasks),
            size_left=MAX_TASKS_SIZE - progress.tasks_size,
        )
        progress.tasks_size += sum(json_size(task.value) for task in added)
        self._scope.weigh(len(items) // _TASKS_A_STEP)
        self._note_blocked(self.schedule.add(added))

    def close(self) -> Outcome:
        """Return the outcome of the graph; abandon tasks in progress."""
        progress = self.progress
        if self.failure is not None:
            self._scope.state.forget_steps(self._location.key, set(progress.running))
            self.schedule.stop(_short(self.failure), self._stopped_by)
        totals = GraphTotals(progress.iterations, progress.dropped)
        return graph_outcome(self.schedule, progress.notes, totals, self.failure)

    def _note_blocked(self, blocked: Sequence[int]) -> None:
        for index in blocked[:_MAX_BLOCKED_NOTED]:
            cause = self.schedule.tasks[index].cause
            note_step(self._scope, self._location.at(str(index)), "blocked", cause)

    def _keep(self, index: int, result: JsonValue) -> None:
        """Keep a result; drop the earliest ones when there are more than a run can carry along."""
        progress = self.progress
        if result is None:
            return
        progress.tasks[index].data = result
        progress.results_size += json_size(result)
        progress.oldest.append(index)
        while progress.results_size > MAX_RESULTS_SIZE and len(progress.oldest) > 1:
            number = progress.oldest.pop(0)
            early = progress.tasks[number]
            progress.results_size -= json_size(early.data)
            early.data, early.dropped = None, True
            self.schedule.changed(number)
            progress.dropped += 1


def open_graph(
    step: TaskGraphStep, location: Location, scope: Scope
) -> TaskGraphProgress | Outcome:
    """Return the graph before its first task; a failure if there is no usable list of tasks."""
    items = fill(step.tasks, location.facts(scope).names())
    if not isinstance(items, list):
        kind = type(items).__name__
        return Outcome.failed("NotAList", f"tasks of {step.name!r} gives a {kind}")
    check_size(items, f"the tasks of {step.name!r}", MAX_TASKS_SIZE)
    allowed = maximum_tasks(step)
    if len(items) > allowed:
        message = f"{step.name!r} has {len(items):,} tasks, and {allowed:,} are allowed"
        return Outcome.failed("TooManyTasks", message)
    scope.weigh(len(items) // _TASKS_A_STEP)
    progress = TaskGraphProgress()
    progress.tasks = read_tasks(items, (), progress.notes, room=allowed)
    progress.tasks_size = sum(json_size(task.value) for task in progress.tasks)
    return progress


def maximum_tasks(step: TaskGraphStep) -> int:
    """Return how many tasks the graph may have, with those that it adds."""
    return MAX_TASKS if step.max_tasks is None else number_of(step.max_tasks)


def _short(error: Failure | None) -> Failure | None:
    return (
        None
        if error is None
        else Failure(error.type, shortened_text(error.message, _MAX_MESSAGE_LENGTH))
    )
