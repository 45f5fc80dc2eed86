"""Try: steps, what to do when one of them fails, and what to do in any case."""

from functools import partial

from pydantic import JsonValue

from dsl.model.outcomes import Outcome
from dsl.model.steps import TryStep
from workflows.control.cancellation import at_last
from workflows.core.location import Interpreter, Location
from workflows.core.memory import StepProgress
from workflows.core.scope import Interrupted, Scope
from workflows.core.trail_causes import Failed
from workflows.skipped_steps import skip_steps


async def execute(
    step: TryStep, place: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """The outcome of the steps, or of the clause that caught their failure.

    `finally` runs in any case, also when the run is cancelled or returns; its own failure is
    the step's failure.
    """
    block = place.block(scope, "try")
    if block.outcome is None:
        try:
            block.outcome = await _tried(step, block, place, interpreter, scope)
        except (Interrupted, GeneratorExit):
            raise  # the run comes back to this very place, here or in another worker
        except BaseException:
            await _finally(step, place, scope, interpreter)
            raise
    last = await _finally(step, place, scope, interpreter)
    place.close_block(scope, "try")
    return last if last.status == "failure" else block.outcome


async def _finally(
    step: TryStep, place: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """The last steps, in any case: when the run is cancelled meanwhile, within its time limit."""
    if scope.cancelled() is None:
        try:
            return await interpreter.run_steps(step.finally_, place, part="finally")
        except (Interrupted, GeneratorExit):
            raise
        except BaseException:
            if scope.cancelled() is not None:
                await _at_last(step, place, scope, interpreter)
            raise
    await _at_last(step, place, scope, interpreter)
    return Outcome.succeeded()


async def _at_last(step: TryStep, place: Location, scope: Scope, interpreter: Interpreter) -> None:
    if step.finally_:
        rest = partial(interpreter.run_steps, step.finally_, place, part="finally")
        await at_last(scope, f"{place.path}/finally", rest)


async def _tried(
    step: TryStep, block: StepProgress, place: Location, interpreter: Interpreter, scope: Scope
) -> Outcome:
    frame = place.frame(scope)
    if block.chosen is None:
        outcome = await interpreter.run_steps(step.steps, place, part="steps")
        chosen = _clause(step, outcome)
        for number, clause in enumerate(step.catch):
            if number != chosen:
                skip_steps(clause.steps, place, scope)
        if chosen is None or outcome.error is None:
            return outcome
        block.chosen = chosen
        failed = next((n for n, o in frame.tasks.items() if o.error is outcome.error), None)
        frame.variables["error"] = {
            "type": outcome.error.type,
            "message": outcome.error.message,
            "step": failed,
        }
        place.note(scope, "step", Failed("failed", outcome.error), status="caught")
    caught: JsonValue = frame.variables.get("error")
    outcome = await interpreter.run_steps(step.catch[block.chosen].steps, place, part="catch")
    if outcome.status == "failure":
        return outcome
    return Outcome.succeeded({"caught": caught, "data": outcome.data})


def _clause(step: TryStep, outcome: Outcome) -> int | None:
    if outcome.status != "failure" or outcome.error is None:
        return None
    for number, clause in enumerate(step.catch):
        if clause.takes_all or outcome.error.type in clause.errors:
            return number
    return None
