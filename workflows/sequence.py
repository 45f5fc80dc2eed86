"""Sequence: runs a list of steps with their conditions, attempts, outcomes and variables."""

from collections.abc import Sequence
from functools import partial

from dsl.errors import LimitExceeded, TemplateFailed, ValueTooLarge
from dsl.evaluate.condition_evaluation import holds, inspect
from dsl.model.outcomes import Failure, Outcome
from dsl.model.retryability import can_pass, holds_steps
from dsl.model.step_base import Retry
from dsl.model.steps import ORCHESTRATING, AgentStep, SkillStep, Step, ToolStep
from dsl.values import MAX_DURATION
from workflows.agents.collected_files import found_by
from workflows.approvals.failed_steps import accepted
from workflows.control.cancellation import begin_to_stop
from workflows.core.location import Interpreter, Location, Skipped
from workflows.core.scope import Interrupted, Scope, on_abort
from workflows.core.step_progress import RetryProgress, SequenceProgress, StartedStep
from workflows.core.trail import note_step, note_step_end
from workflows.core.trail_causes import Failed, StepStated, TrailCause, WhenAsked
from workflows.skipped_steps import begin_round, skip_unrun_within
from workflows.steps import execute

_EARLIER = StepStated("earlier_step_failed")
_SKIPPED = StepStated("skipped_by_person")
_CANCELLED = StepStated("run_cancelled")


async def run_steps(
    steps: Sequence[Step],
    place: Location,
    scope: Scope,
    interpreter: Interpreter,
    *,
    part: str,
    stop: bool,
) -> Outcome:
    """Run the steps in order, from where the state left the list.

    Their outcomes go into the frame. With `stop`, the steps after a failed one are skipped, unless
    it has `on_failure: continue`. At the end every step has run or is skipped.

    Returns:
        The first failure that stops the list; else the outcome of the last step.
    """
    sequences, key = scope.state.progress.sequences, place.key.part(part)
    progress = sequences.get(key)
    if progress is None:
        progress = sequences[key] = SequenceProgress()
        begin_round(steps, place.frame(scope))
    frame = place.frame(scope)
    failed: Outcome | None = None
    outcome = Outcome.skipped()
    for step in steps[: progress.next]:
        outcome = frame.tasks.get(step.name, outcome)
        if _stops(step, outcome):
            failed = failed or outcome
    for step in steps[progress.next :]:
        if failed is not None and stop:
            outcome = Outcome.skipped()
            note_step(scope, place.at(step.name), "skipped", _EARLIER)
        else:
            outcome = await _run_step(step, place.at(step.name), scope, interpreter, progress)
        skip_unrun_within(step, frame)
        frame.end(step.name, outcome)
        if step.output_variable is not None and (
            outcome.success or (outcome.data is not None and outcome.status == "skipped")
        ):
            frame.variables[step.output_variable] = outcome.data
        if _stops(step, outcome):
            failed = failed or outcome
        progress.next += 1
        progress.started = None
    sequences.pop(key, None)
    if failed is None and outcome.status == "failure":
        return Outcome.succeeded(outcome.data)  # `on_failure: continue` does not fail the block
    return failed or outcome


def _stops(step: Step, outcome: Outcome) -> bool:
    return outcome.status == "failure" and step.on_failure != "continue"


async def _run_step(
    step: Step, place: Location, scope: Scope, interpreter: Interpreter, progress: SequenceProgress
) -> Outcome:
    """Run one step with its condition and its attempts; the trail gets its end.

    The progress remembers that the step has started: on resume, its condition is not evaluated
    again.
    """
    state = scope.state
    key = place.step
    started = progress.started
    state.doing[key] = scope.time() if started is None else started.at
    try:
        async with on_abort(partial(_note_cancelled, scope, place), failures=False):
            if started is None:
                await scope.checkpoint()
                if state.skips and key in state.skips:
                    raise Skipped(state.skips.pop(key).value)
                cause, refused = _condition(step, place, scope)
                if refused is not None:
                    note_step(scope, place, refused.status, cause)
                    return refused
                started = progress.started = StartedStep(scope.time(), cause, state.tokens)
            outcome = await _decided(step, place, scope, interpreter)
        if state.skips and key in state.skips:  # it ended before the request reached it
            raise Skipped(state.skips.pop(key).value)
    except Skipped as skipped:
        state.forget(place.key)
        note_step_end(scope, place, "skipped", _SKIPPED, None if started is None else started.at)
        outcome = Outcome("skipped", skipped.value)
        return outcome if started is None else outcome.timed(scope.time() - started.at)
    finally:
        state.doing.pop(key, None)
    error = outcome.error
    note_step_end(
        scope,
        place,
        outcome.status,
        started.cause if error is None else Failed("failed", error),
        started.at,
        state.tokens - started.tokens_before - started.tokens_of_others or None,
        found_by(step, outcome, scope.plan),
    )
    return outcome.timed(scope.time() - started.at)


def _note_cancelled(scope: Scope, place: Location) -> None:
    """Note a step that stops because the run is cancelled, not because other branches ended."""
    if scope.cancelled() is not None:
        begin_to_stop(scope)
        note_step(scope, place, "cancelled", _CANCELLED)


async def _decided(step: Step, place: Location, scope: Scope, interpreter: Interpreter) -> Outcome:
    """Run the step with all its attempts, and ask a person about its failure if it says so."""
    if step.on_failure != "ask":
        return await _tried(step, place, scope, interpreter)
    return await accepted(
        repr(step.name), place, scope, partial(_tried, step, place, scope, interpreter)
    )


def _condition(
    step: Step, place: Location, scope: Scope
) -> tuple[TrailCause | None, Outcome | None]:
    """Evaluate the step's `when`; return its cause, and the outcome if the step does not run."""
    if step.when is None:
        return None, None
    try:
        facts = place.facts(scope)
        found = inspect(step.when, facts)
        if holds(step.when, facts):
            return WhenAsked("when_held", found), None
        return WhenAsked("when_did_not_hold", found), Outcome.skipped()
    except TemplateFailed as error:
        failure = Failure(type(error).__name__, str(error))
        return Failed("when_failed", failure), Outcome("failure", error=failure)


async def _tried(step: Step, place: Location, scope: Scope, interpreter: Interpreter) -> Outcome:
    """Run the step with the attempts of its `retry`."""
    if step.retry is None:
        return await _attempt(step, place, scope, interpreter)
    return await _attempts(step, step.retry, place, scope, interpreter)


async def _attempts(
    step: Step, retry: Retry, place: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run the step, and repeat it by its `retry` while another attempt can end differently."""
    retries, key = scope.state.progress.retries, place.key
    progress = retries.setdefault(key, RetryProgress())
    if progress.wait is not None:
        await _until_again(progress, progress.wait, place, scope)
    holds_others = holds_steps(step)
    while True:
        if progress.calls_before is None:
            progress.calls_before = scope.state.calls
        outcome = await _attempt(step, place, scope, interpreter)
        called = scope.state.calls > progress.calls_before
        progress.calls_before = None
        retries[key] = progress  # a failed attempt forgets everything at its place
        error = outcome.error
        again = (
            error is not None
            and progress.retries < retry.retries
            and can_pass(error.type, data_can_differ=holds_others and called)
            and (not retry.errors or error.type in retry.errors)
        )
        if not again or error is None:
            del retries[key]
            return outcome
        note_step(scope, place, "retried", Failed("failed", error))
        seconds = min(retry.interval * retry.backoff**progress.retries, MAX_DURATION)
        progress.retries += 1
        if seconds > 0:
            await _until_again(progress, seconds, place, scope)


async def _until_again(
    progress: RetryProgress, seconds: float, place: Location, scope: Scope
) -> None:
    """Wait for the next attempt; the state keeps the time left when the run continues as new."""
    try:
        await scope.wait_until(
            lambda: False, seconds, f"attempt {progress.retries + 1} of {place.step}"
        )
    except Interrupted as interrupted:
        progress.wait = interrupted.left
        raise
    progress.wait = None


async def _attempt(step: Step, place: Location, scope: Scope, interpreter: Interpreter) -> Outcome:
    """Run one attempt; a failed template or a too large value fails the step."""
    try:
        if step.timeout is None or _is_call(step):
            return await execute(step, place, scope, interpreter)  # a call has its own timeout
        return await _within(step.timeout, step, place, scope, interpreter)
    except (TemplateFailed, ValueTooLarge) as error:
        scope.state.forget(place.key)
        return Outcome.failed(type(error).__name__, str(error))
    except LimitExceeded as error:
        if scope.state.stop_by is None:
            raise
        scope.state.forget(place.key)  # a cancelled run ends as cancelled, whatever it reaches
        return Outcome.failed(type(error).__name__, str(error))


def _is_call(step: Step) -> bool:
    """Return whether the step is a single call, and not made of other steps."""
    match step:
        case AgentStep(agent_type=agent_type):
            return agent_type != ORCHESTRATING
        case SkillStep() | ToolStep():
            return True
        case _:
            return False


async def _within(
    seconds: float, step: Step, place: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run the whole step, and stop it when its time is up."""
    ended: list[Outcome] = []
    limits, key = scope.state.progress.time_limits, place.key

    async def job() -> None:
        ended.append(await execute(step, place, scope, interpreter))

    left = limits.get(key, seconds)
    try:
        await scope.together({step.name: job}, enough=lambda done: bool(done), seconds=left)
    except Interrupted as interrupted:
        if interrupted.left is not None:
            limits[key] = interrupted.left
        raise
    limits.pop(key, None)
    if ended:
        return ended[0]
    scope.state.forget(place.key)
    return Outcome.failed("Timeout", f"{step.name!r} did not end within {seconds:g} s")
