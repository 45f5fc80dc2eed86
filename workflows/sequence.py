"""Sequence: runs a list of steps with their conditions, attempts, outcomes and variables."""

from collections.abc import Sequence

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.evaluate.condition_evaluation import holds, inspect
from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import FunctionStep, Step, ToolStep
from coterie.workflows.approvals.egress_approval import forget_clearances
from coterie.workflows.control.cancellation import begin_to_stop
from coterie.workflows.core.causes.step_causes import Failed, StepStated, WhenAsked
from coterie.workflows.core.causes.trail_causes import TrailCause
from coterie.workflows.core.location import Interpreter, Location, Redirected, Skipped
from coterie.workflows.core.progress.progress_kinds import SequenceProgress, StartedStep
from coterie.workflows.core.scope import Scope, is_abort
from coterie.workflows.core.state_parts import Frame
from coterie.workflows.core.trail import note_step, note_step_end, skip_cause
from coterie.workflows.core.views import CollectedFiles
from coterie.workflows.skipped_steps import begin_round, skip_unrun_within
from coterie.workflows.step_attempts import run_attempts

_MAX_MODELS = 8
"""Maximum models that one trail entry names; a run carries its entries along."""


def found_by(step: Step, outcome: Outcome, plan: Plan) -> CollectedFiles | None:
    """Return how much a function collected, if its result has `files` and `estimated_tokens`."""
    match step, outcome.data:
        case FunctionStep() | ToolStep(), {"files": list() as files, "estimated_tokens": tokens}:
            if type(tokens) is not int:
                return None
        case _:
            return None
    model_names = {
        f"{persona.provider}/{persona.model}": None
        for persona in plan.personas.values()
        if persona.provider
    }
    return CollectedFiles(
        files=len(files), estimated_tokens=tokens, models=tuple(model_names)[:_MAX_MODELS]
    )


_UNSTARTED = Outcome.skipped()
_EARLIER = StepStated("earlier_step_failed")
_CANCELLED = StepStated("run_cancelled")


async def run_steps(
    steps: Sequence[Step],
    location: Location,
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
        The failure that stops the list; else the outcome of the last step.
    """
    sequences, key = scope.state.progress.sequences, location.key.part(part)
    frame = location.frame(scope)
    progress = sequences.get(key)
    if progress is None:
        progress = sequences[key] = SequenceProgress()
        if frame.tasks:
            begin_round(steps, frame)
    if progress.next:  # the run may have continued as new on its way to the other team
        last = steps[progress.next - 1].name
        _leave_if_handed_off(location.at(last), scope, frame.tasks[last])
    failed, outcome = None, _UNSTARTED
    for step in steps[progress.next :]:
        at = location.at(step.name)
        if failed is not None and stop:
            outcome = _UNSTARTED
            note_step(scope, at, "skipped", _EARLIER)
        else:
            outcome = await _run_step(step, at, scope, interpreter, progress)
        skip_unrun_within(step, frame)
        _keep_outcome(step, outcome, frame)
        if _stops(step, outcome):
            failed = outcome
        progress.next += 1
        progress.started = None
        forget_clearances(at.key, scope.state)
        if scope.state.progress.handoffs:
            _leave_if_handed_off(at, scope, outcome)
    sequences.pop(key, None)
    if failed is None and outcome.status == "failure":
        return Outcome.succeeded(outcome.data)  # `on_failure: continue` does not fail the block
    return failed or outcome


def _keep_outcome(step: Step, outcome: Outcome, frame: Frame) -> None:
    """Keep the outcome of a step in the frame, and its data in the variable that it names."""
    frame.end(step.name, outcome)
    has_data = outcome.success or (outcome.data is not None and outcome.status == "skipped")
    if step.output_variable is not None and has_data:
        frame.variables[step.output_variable] = outcome.data


def _leave_if_handed_off(location: Location, scope: Scope, outcome: Outcome) -> None:
    """Leave the team if the agent of the step here has handed over to another one."""
    cause = scope.state.progress.handoffs.get(location.key)
    if cause is not None and outcome.success:
        raise Redirected(cause.team, cause)


def _stops(step: Step, outcome: Outcome) -> bool:
    return outcome.status == "failure" and step.on_failure != "continue"


async def _run_step(
    step: Step,
    location: Location,
    scope: Scope,
    interpreter: Interpreter,
    progress: SequenceProgress,
) -> Outcome:
    """Run one step with its condition and its attempts; the trail gets its end."""
    state, key = scope.state, location.step
    state.doing[key] = scope.time() if progress.started is None else progress.started.at
    try:
        match progress.started or await _start(step, location, scope, progress):
            case Outcome() as refused:
                return refused
            case started:
                outcome = await run_attempts(step, started, location, scope, interpreter)
        _raise_if_skipped(location, scope)  # it ended before the request reached it
    except Skipped as skipped:
        return _skip(skipped, progress.started, location, scope)
    except BaseException as error:
        if is_abort(error, failures=False):
            _note_cancelled(scope, location)
        raise
    finally:
        state.doing.pop(key, None)
    _note_end(step, started, outcome, location, scope)
    return outcome.timed(scope.time() - started.at)


async def _start(
    step: Step, location: Location, scope: Scope, progress: SequenceProgress
) -> StartedStep | Outcome:
    """Start the step if its condition holds; else return how it ends without a run.

    The progress remembers that the step has started: on resume, its condition is not evaluated
    again.
    """
    await scope.checkpoint()
    _raise_if_skipped(location, scope)
    when: WhenAsked | None = None
    if step.when is not None:
        match _condition(step.when, location, scope):
            case WhenAsked() as when:
                pass
            case cause, refused:
                note_step(scope, location, refused.status, cause)
                return refused
    progress.started = StartedStep(scope.time(), when, scope.state.usage.total)
    return progress.started


def _raise_if_skipped(location: Location, scope: Scope) -> None:
    """Raise Skipped if a person has asked to skip the step."""
    skips, key = scope.state.skips, location.step
    if skips and key in skips:
        raise Skipped(skips.pop(key).value)


def _skip(
    skipped: Skipped, started: StartedStep | None, location: Location, scope: Scope
) -> Outcome:
    """Note that a person skipped the step, and return the value that they gave instead."""
    event = _end_of_call(location, scope)
    scope.state.forget(location.key)
    at = None if started is None else started.at
    note_step_end(scope, location, "skipped", skip_cause(skipped.value), at, event=event)
    outcome = Outcome("skipped", skipped.value)
    return outcome if started is None else outcome.timed(scope.time() - started.at)


def _note_end(
    step: Step, started: StartedStep, outcome: Outcome, location: Location, scope: Scope
) -> None:
    """Note how a step ended, with what it used and wrote."""
    error = outcome.error
    note_step_end(
        scope,
        location,
        outcome.status,
        None if error is None else Failed("failed", error),
        started.at,
        scope.state.usage.total - started.tokens_before - started.tokens_of_others or None,
        found_by(step, outcome, scope.plan),
        started.writes,
        _end_of_call(location, scope),
        started.when,
    )


def _end_of_call(location: Location, scope: Scope) -> str | None:
    """Return the name of the event that ends the call of a `tool` step; None for other steps."""
    tool_calls = scope.state.progress.called_tools
    return "tool_end" if tool_calls.pop(location.key, None) is not None else None


def _note_cancelled(scope: Scope, location: Location) -> None:
    """Note a step that stops because the run is cancelled, not because other branches ended."""
    if scope.cancelled() is not None:
        begin_to_stop(scope)
        note_step(scope, location, "cancelled", _CANCELLED)


def _condition(
    when: Condition, location: Location, scope: Scope
) -> WhenAsked | tuple[TrailCause, Outcome]:
    """Evaluate a step's `when`; return what held, or why the step ends without a run, and how."""
    try:
        facts = location.facts(scope)
        condition = inspect(when, facts)
        if holds(when, facts):
            return WhenAsked("when_held", condition)
        return WhenAsked("when_did_not_hold", condition), Outcome.skipped()
    except TemplateFailed as error:
        failure = Failure(type(error).__name__, str(error))
        return Failed("when_failed", failure), Outcome("failure", error=failure)
