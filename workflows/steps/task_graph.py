"""Task graph: tasks that depend on each other, each with a body of steps and frame of its own."""

from functools import partial
from itertools import count

from pydantic import JsonValue

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.evaluate.graph_reads import graph_fields
from coterie.dsl.model.facts import GRAPH_VARIABLE
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.model.retryability import DECIDED, can_pass
from coterie.dsl.model.steps import TaskGraphStep
from coterie.dsl.model.template_bound import number_of
from coterie.dsl.task_graph.graph_data import GraphView, graph_view, restored
from coterie.dsl.task_graph.task_causes import GraphTaskStarted
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.agents.repeatable_attempts import may_repeat, open_attempt
from coterie.workflows.approvals.failed_steps import accepted
from coterie.workflows.context_drafts import failed_write, take_draft, write
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.progress.progress_kinds import TaskAttempts, TaskGraphProgress
from coterie.workflows.core.scope import Job, Scope
from coterie.workflows.core.trail import note_step
from coterie.workflows.graph_ledger import GraphLedger, open_graph
from coterie.workflows.skipped_steps import skip_steps


async def execute(
    step: TaskGraphStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run the tasks as their dependencies allow; the data has each task with its status."""
    graphs, key = scope.state.progress.task_graphs, location.key
    if key not in graphs:
        progress = open_graph(step, location, scope)
        if isinstance(progress, Outcome):
            return progress
        graphs[key] = progress
        skip_steps(step.select, location, scope)
    graph = _Graph(step, location, scope, interpreter, graphs[key])
    graph.restore()
    at_once = number_of(step.concurrency)
    if at_once == 1:
        while (task := graph.take()) is not None:
            await task[1]()
    else:
        await scope.together(
            graph, enough=lambda _: graph.has_stopped, at_once=at_once, begun=graph.begun.keys()
        )
    outcome = graph.close()
    del graphs[key]
    location.frame(scope).variables.pop(GRAPH_VARIABLE, None)
    return outcome


class _Graph:
    """One graph in progress, as jobs: each takes a task when it starts, and runs it to its end."""

    def __init__(
        self,
        step: TaskGraphStep,
        location: Location,
        scope: Scope,
        interpreter: Interpreter,
        progress: TaskGraphProgress,
    ) -> None:
        self._step, self._location = step, location
        self._scope, self._interpreter = scope, interpreter
        self._ledger = GraphLedger(step, location, scope, progress)
        self._schedule = self._ledger.schedule
        self._progress = progress
        self._fields = graph_fields(step, scope.plan.personas)
        self.begun: dict[str, Job] = {
            f"task {index}": partial(self._run, index) for index in self._schedule.in_progress()
        }
        self._resumed = iter(self.begun.items())
        self._jobs = count()
        self._waiting = 0  # jobs that have yet to take a task
        self._taken: dict[int, int] = {}  # by job: one that comes back has its task
        self._choosing = False
        self._additions: dict[int, list[JsonValue]] = {}
        """What `add` gave after a body, until its task has ended."""

    @property
    def has_stopped(self) -> bool:
        """Whether no task may start or continue."""
        return self._ledger.has_stopped

    def close(self) -> Outcome:
        """Return the outcome of the graph."""
        return self._ledger.close()

    def take(self) -> tuple[str, Job] | None:
        """Return another job, with its name; None while no further task may start."""
        resumed = next(self._resumed, None)
        if resumed is not None:
            return resumed
        ready = self._schedule.ready > self._waiting
        if self.has_stopped or not ready or self._ledger.is_used_up(self._waiting):
            return None
        self._waiting += 1
        number = next(self._jobs)
        return f"job {number}", partial(self._next, number)

    async def _next(self, job: int) -> None:
        """Take the next task, by the order or by a choice, and run it."""
        if job not in self._taken:
            cause = await self._choice()  # interrupted, it keeps its turn: no other job takes it
            self._waiting -= 1
            if cause is None or self._ledger.is_used_up():
                return
            self._taken[job] = self._ledger.start(cause)
        await self._run(self._taken[job])

    async def _choice(self) -> GraphTaskStarted | None:
        """Return which task comes next, and why; None when none may start any more."""
        step, schedule = self._step, self._schedule
        if self._choosing:
            await self._scope.wait_until(lambda: not self._choosing, None, "another choice")
        if self.has_stopped or not schedule.ready or self._ledger.is_used_up():
            return None
        first = schedule.tasks[schedule.first()].id
        begun = self._location.key.part("select") in self._scope.state.progress.sequences
        if not step.select or (schedule.ready == 1 and not begun):
            return GraphTaskStarted("task_next", first, schedule.ready)
        self._choosing = True
        try:
            choice = await self._run_select(begun)
        finally:
            self._choosing = False
        if choice is None:
            return None
        if isinstance(choice, Failure):
            return GraphTaskStarted("choice_failed", first, schedule.ready, failure=choice)
        if choice in schedule.index and schedule.is_ready(schedule.index[choice]):
            return GraphTaskStarted("task_chosen", choice, schedule.ready)
        return GraphTaskStarted("choice_unavailable", first, schedule.ready, choice)

    async def _run_select(self, begun: bool) -> str | Failure | None:
        """Run the steps of `select`; return what `chosen` then gives.

        Returns:
            The failure of either; None if it stops the graph, since it is a decision.
        """
        step, location = self._step, self._location
        if not begun:
            location.frame(self._scope).variables[GRAPH_VARIABLE] = self._view(None, None)
        outcome = await self._interpreter.run_steps(step.select, location, part="select")
        if outcome.error is not None:
            if outcome.root_error not in DECIDED:
                return outcome.error
            self._ledger.failure = outcome.error
            return None
        try:
            choice = fill(step.chosen, location.facts(self._scope).names())
        except TemplateFailed as error:
            return Failure(type(error).__name__, str(error))
        return choice.strip() if isinstance(choice, str) else "" if choice is None else str(choice)

    def _view(self, task: int | None, error: Failure | None) -> GraphView:
        iteration = self._progress.iterations + (task is None)
        return graph_view(self._schedule, self._fields, self._location.key, iteration, task, error)

    def restore(self) -> None:
        """Restore what running tasks read of the graph, after the run has continued as new."""
        for frame in self._scope.state.frames.values():
            value = frame.variables.get(GRAPH_VARIABLE)
            if value is not None and not isinstance(value, GraphView):
                view = restored(value, self._schedule, self._fields, self._location.key)
                frame.variables[GRAPH_VARIABLE] = value if view is None else view

    async def _run(self, index: int) -> None:
        """Run a task with all its attempts, and what follows when all have failed."""
        name = str(index)
        inside = self._location.at(name)
        task = self._schedule.tasks[index]
        running = self._progress.running.setdefault(name, TaskAttempts())
        work = partial(self._work_on_task, index, inside, running)
        if self._step.on_failed_task == "ask":
            what = f"task {task.id!r} of {self._step.name!r}"
            outcome = await accepted(what, inside, self._scope, work)
        else:
            outcome = await work()
        outcome = self._join_writes(inside, outcome)
        self._ledger.end(index, outcome, recovered=running.recovering, error=running.error)
        self._scope.state.forget(inside.key)
        del self._progress.running[name]
        self._ledger.add(self._additions.pop(index, []))

    def _join_writes(self, inside: Location, outcome: Outcome) -> Outcome:
        """Write what a task wrote to the context, if it succeeded; later tasks see it."""
        draft = take_draft(inside.key.frame_of(inside.name), self._scope)
        if not outcome.success:
            return outcome
        who = f"a task of {self._step.name!r}"
        failed = failed_write(lambda: write(self._location, draft, self._scope, who), outcome.data)
        return failed or outcome

    async def _work_on_task(self, index: int, inside: Location, running: TaskAttempts) -> Outcome:
        steps = self._step.on_failed_task
        if not running.recovering:
            outcome = await self._attempts(index, inside, running)
            if outcome.error is None or isinstance(steps, str):
                return outcome
            running.recovering = True
            take_draft(inside.key.frame_of(inside.name), self._scope)
        inner = inside.branched(inside.name, self._scope)
        view = self._view(index, running.error)
        inner.frame(self._scope).variables[GRAPH_VARIABLE] = view
        recovery = () if isinstance(steps, str) else steps
        outcome = await self._interpreter.run_steps(recovery, inner, part="on_failed_task")
        return outcome if outcome.error is not None else Outcome.succeeded(outcome.data)

    async def _attempts(self, index: int, inside: Location, running: TaskAttempts) -> Outcome:
        """Run the body until it succeeds, or no further attempt may follow."""
        scope, frames = self._scope, self._scope.state.frames
        key = inside.key.frame_of(inside.name)
        if key not in frames:  # and not in the middle of an attempt
            running.retries = 0
        while True:
            if key not in frames:
                self._begin(index, inside, running)
            inner = inside.branched(inside.name, scope)
            attempt = open_attempt(inside, scope)
            outcome = await self._interpreter.run_steps(self._step.body, inner, part="body")
            outcome = self._check_result(index, outcome, inner)
            if outcome.error is None:
                return outcome
            running.error = outcome.error
            again = self._may_retry(outcome, running, differs=attempt.may_differ)
            again = again and may_repeat(attempt, outcome, inside, scope)
            if again or isinstance(self._step.on_failed_task, str):
                scope.state.forget(inside.key)
            if not again:
                return outcome
            note_step(scope, inside, "retried", Failed("failed", outcome.error))
            running.retries += 1

    def _begin(self, index: int, inside: Location, running: TaskAttempts) -> None:
        """Begin an attempt with a frame of its own."""
        task = self._schedule.tasks[index]
        self._progress.iterations += 1
        task.attempts += 1
        self._schedule.changed(index)
        variables = inside.branched(inside.name, self._scope).frame(self._scope).variables
        variables[self._step.task_variable] = task.value
        variables[GRAPH_VARIABLE] = self._view(index, running.error)

    def _may_retry(self, outcome: Outcome, running: TaskAttempts, *, differs: bool) -> bool:
        if running.retries >= number_of(self._step.task_retries) or self._ledger.is_used_up():
            return False
        differs = differs or bool(self._fields)  # the graph changes, and its error
        return can_pass(outcome.root_error, data_can_differ=differs)

    def _check_result(self, index: int, outcome: Outcome, inner: Location) -> Outcome:
        """Return the outcome of an attempt with the result of its task; keep what `add` gives."""
        if outcome.error is not None:
            return outcome
        if self._step.add is not None:
            try:
                added = fill(self._step.add, inner.facts(self._scope).names())
            except TemplateFailed as error:
                return Outcome.failed(type(error).__name__, str(error))
            if not isinstance(added, list | None):
                kind = type(added).__name__
                return Outcome.failed("NotAList", f"add of {self._step.name!r} gives a {kind}")
            self._additions[index] = added or []
        ended = inner.frame(self._scope).tasks
        ran = (ended[step.name] for step in reversed(self._step.body) if step.name in ended)
        return Outcome.succeeded(
            next((result.data for result in ran if result.status != "skipped"), None)
        )
