"""Attempts: runs a step with its `retry`, `timeout`, `fail_when` and `on_failure: ask`."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import NamedTuple

from coterie.dsl.errors import InvalidBound, LimitExceeded, TemplateFailed, ValueTooLarge
from coterie.dsl.evaluate.because import condition_because
from coterie.dsl.evaluate.bounds import rendered_bound, rendered_bounds, with_numbers
from coterie.dsl.evaluate.condition_evaluation import holds, inspect
from coterie.dsl.evaluate.context import WRITE_ERRORS
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.retryability import can_pass
from coterie.dsl.model.step_kinds.agent_step import AgentStep
from coterie.dsl.model.step_kinds.step_base import Retry
from coterie.dsl.model.steps import FunctionStep, ParallelStep, Step, ToolStep
from coterie.dsl.model.template_bound import RETRIES, TemplateBound, number_of, seconds_of
from coterie.dsl.model.traversal.step_bounds import bound_templates
from coterie.dsl.values import MAX_DURATION
from coterie.workflows.agents.repeatable_attempts import close_attempt, may_repeat, open_attempt
from coterie.workflows.agents.time_limits import within_time
from coterie.workflows.approvals.failed_steps import accepted
from coterie.workflows.context_drafts import take_draft, with_draft, with_updates
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.progress.progress_kinds import RetryProgress, StartedStep
from coterie.workflows.core.progress.step_progress import RepeatableAttempt
from coterie.workflows.core.scope import Interrupted, Scope
from coterie.workflows.core.trail import note_step
from coterie.workflows.skipped_steps import begin_round
from coterie.workflows.steps import execute, parallel

RESULT_REJECTED = "ResultRejected"


def check_result(
    step: Step, outcome: Outcome, seconds: float, location: Location, scope: Scope
) -> Outcome:
    """Return the outcome; a failure with the same data if the step's `fail_when` holds.

    Args:
        step: The step that ended.
        outcome: What one attempt of it came to.
        seconds: The time that the attempt took.
        location: Where the step stands.
        scope: The scope of the run.
    """
    if step.fail_when is None or not outcome.success:
        return outcome
    facts = location.facts(scope).with_result(step.name, outcome.timed(seconds))
    try:
        if not holds(step.fail_when, facts):
            return outcome
        condition = condition_because(inspect(step.fail_when, facts))
    except TemplateFailed as error:
        message = f"`fail_when` of {step.name!r}: {error}"
        return Outcome.failed(type(error).__name__, message, outcome.data)
    message = f"`fail_when` of {step.name!r} holds: {condition}"
    return Outcome.failed(RESULT_REJECTED, message, outcome.data)


def run_attempts(
    step: Step, started: StartedStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Awaitable[Outcome]:
    """Run the step with all its attempts; with `on_failure: ask`, a person decides its failure."""
    if step.on_failure != "ask":
        return _run_and_update(step, started, location, scope, interpreter)
    work = partial(_run_and_update, step, started, location, scope, interpreter)
    return accepted(repr(step.name), location, scope, work)


def _run_and_update(
    step: Step, started: StartedStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Awaitable[Outcome]:
    """Run the step with the attempts of its `retry`, and apply its context updates."""
    again = step.retry is not None or step.on_failure == "ask"
    if again and step.contains_calls:
        work = partial(_run_with_retries, step, started, scope=scope, interpreter=interpreter)
        ran: Awaitable[Outcome] = with_draft(step, location, scope, work)
    else:
        ran = _run_with_retries(step, started, location, scope, interpreter)
    return with_updates(step, location, scope, started, ran) if step.context_updates else ran


def _run_with_retries(
    step: Step, started: StartedStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Awaitable[Outcome]:
    """Run the step with the attempts of its `retry`, or once without one."""
    if step.retry is None:
        once = _attempt if step.fail_when is None else _attempt_and_check
        return once(step, started, location, scope, interpreter)
    return _attempts(step, step.retry, started, location, scope, interpreter)


async def _attempts(
    step: Step,
    retry: Retry,
    started: StartedStep,
    location: Location,
    scope: Scope,
    interpreter: Interpreter,
) -> Outcome:
    """Run the step, and repeat it by its `retry` while another attempt can end differently."""
    retries, key = scope.state.progress.retries, location.key
    progress = retries.setdefault(key, RetryProgress())
    try:
        maximum = _retries(retry, progress, step, location, scope)
    except (InvalidBound, TemplateFailed) as error:
        del retries[key]
        return Outcome.failed(type(error).__name__, str(error))
    if progress.wait is not None:
        await _until_again(progress, progress.wait, location, scope)
    while True:
        attempt = await _repeatable_attempt(progress, step, started, location, scope, interpreter)
        retries[key] = progress  # a failed attempt forgets everything at its location
        error = attempt.outcome.error
        tries_left = progress.retries < maximum
        may = tries_left and _may_end_better(retry, attempt, location, scope)
        if error is None or not may:
            del retries[key]
            return attempt.outcome
        take_draft(key, scope)
        note_step(scope, location, "retried", Failed("failed", error))
        for inner in step.lists():
            begin_round(inner.steps, location.frame(scope))
        seconds = min(retry.interval * retry.backoff**progress.retries, MAX_DURATION)
        progress.retries += 1
        if seconds > 0:
            await _until_again(progress, seconds, location, scope)


class _EndedAttempt(NamedTuple):
    """One attempt of a step, and whether another one has something else to work with."""

    outcome: Outcome
    watched: RepeatableAttempt
    data_can_differ: bool


async def _repeatable_attempt(
    progress: RetryProgress,
    step: Step,
    started: StartedStep,
    location: Location,
    scope: Scope,
    interpreter: Interpreter,
) -> _EndedAttempt:
    """Run one attempt, and observe what it reads and calls."""
    holds_others = step.contains_calls
    attempt = open_attempt(location, scope)
    outcome = await _attempt_and_check(step, started, location, scope, interpreter)
    close_attempt(location, scope)
    return _EndedAttempt(outcome, attempt, holds_others and attempt.may_differ)


def _may_end_better(retry: Retry, attempt: _EndedAttempt, location: Location, scope: Scope) -> bool:
    """Return whether `retry` names the failure, and another attempt is safe and useful."""
    error = attempt.outcome.error
    return (
        error is not None
        and (not retry.errors or error.type in retry.errors)
        and can_pass(attempt.outcome.root_error, data_can_differ=attempt.data_can_differ)
        and may_repeat(attempt.watched, attempt.outcome, location, scope)
    )


def _retries(
    retry: Retry, progress: RetryProgress, step: Step, location: Location, scope: Scope
) -> int:
    """Return how many more attempts the step may have; a template decides before the first one."""
    bound = retry.retries
    if not isinstance(bound, TemplateBound):
        return number_of(bound)
    if progress.maximum is None:
        names = location.facts(scope).names()
        progress.maximum = int(rendered_bound(RETRIES, bound, names, repr(step.name)))
    return progress.maximum


async def _until_again(
    progress: RetryProgress, seconds: float, location: Location, scope: Scope
) -> None:
    """Wait for the next attempt; the state keeps the time left when the run continues as new."""
    try:
        await scope.wait_until(
            lambda: False, seconds, f"attempt {progress.retries + 1} of {location.step}"
        )
        await scope.checkpoint()
    except Interrupted as interrupted:
        progress.wait = interrupted.left
        raise
    progress.wait = None


async def _attempt_and_check(
    step: Step, started: StartedStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run one attempt, and check its result against `fail_when`, if the step has one."""
    if step.fail_when is None:
        return await _attempt(step, started, location, scope, interpreter)
    if started.attempt_at is None:
        started.attempt_at = scope.time()
    outcome = await _attempt(step, started, location, scope, interpreter)
    seconds = scope.time() - started.attempt_at
    started.attempt_at = None
    return check_result(step, outcome, seconds, location, scope)


async def _attempt(
    step: Step, started: StartedStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run one attempt; a failed template or write, or a too large value fails the step."""
    try:
        bounded = _step_with_bounds(step, started, location, scope)
        if bounded.timeout is None or _is_call(step):  # a call has its own timeout
            outcome = await execute(bounded, started.when, location, scope, interpreter)
        else:
            seconds = seconds_of(bounded.timeout)
            work = partial(execute, bounded, started.when, location, scope, interpreter)
            outcome = await _within(seconds, bounded, location, scope, work)
    except _FAILURES as error:
        scope.state.forget(location.key)
        outcome = Outcome.failed(type(error).__name__, str(error))
    except LimitExceeded as error:
        if scope.state.stop_by is None:
            raise
        scope.state.forget(location.key)  # a cancelled run ends as cancelled, whatever it reaches
        outcome = Outcome.failed(type(error).__name__, str(error))
    started.bounds = None
    return outcome


_FAILURES = (TemplateFailed, ValueTooLarge, InvalidBound, *WRITE_ERRORS)


def _step_with_bounds(step: Step, started: StartedStep, location: Location, scope: Scope) -> Step:
    """Return the step with the numbers that its bounds' templates give for this attempt."""
    if not bound_templates(step):
        return step
    if started.bounds is None:
        started.bounds = rendered_bounds(step, location.facts(scope).names())
    return with_numbers(step, started.bounds)


def _is_call(step: Step) -> bool:
    """Return whether the step is a single call, and not made of other steps."""
    return isinstance(step, AgentStep | FunctionStep | ToolStep) and not step.contains_calls


async def _within(
    seconds: float,
    step: Step,
    location: Location,
    scope: Scope,
    work: Callable[[], Coroutine[None, None, Outcome]],
) -> Outcome:
    """Run the whole step, and stop it when its time is up."""
    outcome = await within_time(seconds, step.name, location, scope, work)
    if outcome is not None:
        return outcome
    if isinstance(step, ParallelStep):
        best = parallel.at_timeout(step, location, scope)
        if best is not None:
            scope.state.forget(location.key)
            return best
    scope.state.forget(location.key)
    return Outcome.failed("Timeout", f"{step.name!r} did not end within {seconds:g} s")
