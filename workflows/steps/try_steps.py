"""Try: steps, a clause for their failure, and steps that always run."""

from functools import partial

from pydantic import JsonValue

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import TryStep
from coterie.workflows.control.cancellation import at_last
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.progress.progress_kinds import TryProgress
from coterie.workflows.core.scope import Scope, on_abort
from coterie.workflows.core.trail import note_step
from coterie.workflows.skipped_steps import skip_steps


async def execute(
    step: TryStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run the steps and, if they fail, the clause that catches their failure.

    `finally` always runs, also when the run is cancelled or returns; its own failure is the step's
    failure.
    """
    tries, key = scope.state.progress.tries, location.key
    progress = tries.setdefault(key, TryProgress())
    if progress.outcome is None:
        async with on_abort(lambda: _finally(step, location, scope, interpreter)):
            progress.outcome = await _run_try(step, progress, location, interpreter, scope)
    last = await _finally(step, location, scope, interpreter)
    tries.pop(key, None)
    return last if last.status == "failure" else progress.outcome


async def _finally(
    step: TryStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run the `finally` steps, also when the run is cancelled, within its time limit."""
    if scope.cancelled() is None:
        async with on_abort(lambda: _at_last(step, location, scope, interpreter)):
            return await interpreter.run_steps(step.finally_, location, part="finally")
    await _at_last(step, location, scope, interpreter)
    return Outcome.succeeded()


async def _at_last(
    step: TryStep, location: Location, scope: Scope, interpreter: Interpreter
) -> None:
    """Run the `finally` steps of a cancelled run, within its time limit."""
    if step.finally_ and scope.cancelled() is not None:
        rest = partial(interpreter.run_steps, step.finally_, location, part="finally")
        await at_last(scope, f"{location.path}/finally", rest)


async def _run_try(
    step: TryStep, progress: TryProgress, location: Location, interpreter: Interpreter, scope: Scope
) -> Outcome:
    frame = location.frame(scope)
    if progress.caught is None:
        outcome = await interpreter.run_steps(step.steps, location, part="steps")
        chosen = _clause(step, outcome)
        for number, clause in enumerate(step.catch):
            if number != chosen:
                skip_steps(clause.steps, location, scope)
        if outcome.status != "failure":
            return Outcome.succeeded(outcome.data)
        if chosen is None or outcome.error is None:
            return outcome
        progress.caught = chosen
        failed = next((n for n, o in frame.tasks.items() if o.error is outcome.error), None)
        frame.variables["error"] = {
            "type": outcome.error.type,
            "message": outcome.error.message,
            "step": failed,
        }
        note_step(scope, location, "caught", Failed("failed", outcome.error))
    caught: JsonValue = frame.variables.get("error")
    outcome = await interpreter.run_steps(step.catch[progress.caught].steps, location, part="catch")
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
