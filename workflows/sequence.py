"""A list of steps, one after the other: conditions, attempts, outcomes, variables, the trail."""

from collections.abc import Sequence
from functools import partial

from dsl.errors import LimitExceeded, TemplateFailed, ValueTooLarge
from dsl.evaluate.condition_evaluation import holds, inspect
from dsl.model.outcomes import Failure, Outcome
from dsl.model.retryability import can_pass, holds_steps
from dsl.model.steps import ORCHESTRATING, AgentStep, Retry, SkillStep, Step, ToolStep
from dsl.values import MAX_DURATION
from workflows.agents.collected_files import found_by
from workflows.approvals.failed_steps import accepted
from workflows.control.cancellation import begin_to_stop
from workflows.core.location import Interpreter, Location, Skipped
from workflows.core.memory import StepProgress
from workflows.core.scope import Interrupted, Scope
from workflows.core.trail_causes import Failed, StepStated, TrailCause, WhenAsked
from workflows.skipped_steps import skip_within
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
    """Run the steps in order, from where the block stands.

    Their outcomes go into the frame. With `stop`, the steps after a failed one are skipped,
    unless that step says `on_failure: continue`. Every step has run, or is skipped, at the end.

    Returns:
        The first failure that is not passed over; else what the last step came to.
    """
    block = place.block(scope, part)
    frame = place.frame(scope)
    failed: Outcome | None = None
    outcome = Outcome.skipped()
    for step in steps[: block.next]:
        outcome = frame.tasks.get(step.name, outcome)
        if _stops(step, outcome):
            failed = failed or outcome
    for step in steps[block.next :]:
        if failed is not None and stop:
            outcome = Outcome.skipped()
            place.at(step.name).note(scope, "step", _EARLIER, status="skipped")
        else:
            outcome = await _run_step(step, place.at(step.name), scope, interpreter, block)
        if block.began is None:  # it did not run, so nothing that it holds did
            skip_within(step, place, scope)
        frame.tasks[step.name] = outcome
        if step.output_variable is not None and (
            outcome.success or (outcome.data is not None and outcome.status == "skipped")
        ):
            frame.variables[step.output_variable] = outcome.data
        if _stops(step, outcome):
            failed = failed or outcome
        block.next += 1
        block.began = None
    place.close_block(scope, part)
    if failed is None and outcome.status == "failure":
        return Outcome.succeeded(outcome.data)  # passed over, so it fails nothing around it
    return failed or outcome


def _stops(step: Step, outcome: Outcome) -> bool:
    return outcome.status == "failure" and step.on_failure != "continue"


async def _run_step(
    step: Step, place: Location, scope: Scope, interpreter: Interpreter, block: StepProgress
) -> Outcome:
    """One step with its condition and its attempts; the trail tells how it ended.

    The block remembers that the step has begun: one that is resumed in the middle is not asked
    again whether it may begin.
    """
    state = scope.state
    key = f"{place.team}/{place.path}"
    state.doing[key] = block.began or scope.time()
    try:
        if block.began is None:
            await scope.checkpoint()
            if state.skips and key in state.skips:
                raise Skipped(state.skips.pop(key).value)
            block.cause, refused = _condition(step, place, scope)
            if refused is not None:
                place.note(scope, "step", block.cause, status=refused.status)
                return refused
            block.began = scope.time()
            block.tokens, block.of_others = state.tokens, 0
        if step.on_failure == "ask":
            outcome = await accepted(
                step, place, scope, partial(_tried, step, place, scope, interpreter)
            )
        else:
            outcome = await _tried(step, place, scope, interpreter)
        if state.skips and key in state.skips:  # it ended before it heard of that
            raise Skipped(state.skips.pop(key).value)
    except Skipped as skipped:
        state.forget(place.key)
        place.note(scope, "step", _SKIPPED, status="skipped", since=block.began)
        return Outcome("skipped", skipped.value)
    except (Exception, Interrupted, GeneratorExit):
        raise
    except BaseException:
        if scope.cancelled() is not None:
            begin_to_stop(scope)
            place.note(scope, "step", _CANCELLED, status="cancelled")
        raise
    finally:
        state.doing.pop(key, None)
    error = outcome.error
    place.note(
        scope,
        "step",
        block.cause if error is None else Failed("failed", error),
        status=outcome.status,
        since=block.began,
        tokens=state.tokens - block.tokens - block.of_others or None,
        found=found_by(step, outcome, scope.plan),
    )
    return outcome


def _condition(
    step: Step, place: Location, scope: Scope
) -> tuple[TrailCause | None, Outcome | None]:
    """What the step's `when` found, and what the step comes to when it does not hold."""
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
    """The step with all the attempts that it says."""
    if step.retry is None:
        return await _attempt(step, place, scope, interpreter)
    return await _attempts(step, step.retry, place, scope, interpreter)


async def _attempts(
    step: Step, retry: Retry, place: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """The step, again as its `retry` says, while a further attempt can end otherwise."""
    block = place.block(scope, "attempts")
    if block.left is not None:
        await _until_again(block, block.left, place, scope)
    holds_others = holds_steps(step)
    while True:
        if block.calls_before is None:
            block.calls_before = scope.state.calls
        outcome = await _attempt(step, place, scope, interpreter)
        called = scope.state.calls > block.calls_before
        block.calls_before = None
        scope.state.blocks[place.block_key("attempts")] = block  # a failed attempt forgets much
        error = outcome.error
        again = (
            error is not None
            and block.next < retry.retries
            and can_pass(error.type, data_can_differ=holds_others and called)
            and (not retry.errors or error.type in retry.errors)
        )
        if not again or error is None:
            place.close_block(scope, "attempts")
            return outcome
        place.note(scope, "step", Failed("failed", error), status="retried")
        seconds = min(retry.interval * retry.backoff**block.next, MAX_DURATION)
        block.next += 1
        if seconds > 0:
            await _until_again(block, seconds, place, scope)


async def _until_again(block: StepProgress, seconds: float, place: Location, scope: Scope) -> None:
    """Wait for the next attempt; what is left of it is kept when the run continues as new."""
    try:
        await scope.wait_until(
            lambda: False, seconds, f"attempt {block.next + 1} of {place.team}/{place.path}"
        )
    except Interrupted as interrupted:
        block.left = interrupted.left
        raise
    block.left = None


async def _attempt(step: Step, place: Location, scope: Scope, interpreter: Interpreter) -> Outcome:
    """One attempt; what cannot be filled, or not be kept, is the step's own failure."""
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
    """Whether the step is one call of the world, and not made of other steps."""
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
    """The step as a whole, stopped when its time is up."""
    ended: list[Outcome] = []
    block = place.block(scope, "within")

    async def job() -> None:
        ended.append(await execute(step, place, scope, interpreter))

    left = seconds if block.left is None else block.left
    try:
        await scope.together({step.name: job}, enough=lambda done: bool(done), seconds=left)
    except Interrupted as interrupted:
        block.left = interrupted.left
        raise
    place.close_block(scope, "within")
    if ended:
        return ended[0]
    scope.state.forget(place.key)
    return Outcome.failed("Timeout", f"{step.name!r} did not end within {seconds:g} s")
