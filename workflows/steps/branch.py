"""A branch: the first of its branches whose condition holds, or `otherwise`."""

from coterie.dsl.evaluate.condition_evaluation import holds, inspect
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import BranchStep, Step
from coterie.workflows.core.causes.step_causes import BranchChosen, StepStated
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.progress.progress_kinds import BranchProgress
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import note_step
from coterie.workflows.skipped_steps import skip_steps


async def execute(
    step: BranchStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Choose once, then run the chosen steps."""
    branches, key = scope.state.progress.branches, location.key
    progress = branches.get(key)
    if progress is None:
        chosen = await _choose(step, location, scope)
        progress = branches[key] = BranchProgress(chosen)
        for number, branch in enumerate(step.branches):
            if number != chosen:
                skip_steps(branch.steps, location, scope)
        if chosen is not None:
            skip_steps(step.otherwise, location, scope)
    chosen = progress.chosen
    steps: tuple[Step, ...] = step.otherwise if chosen is None else step.branches[chosen].steps
    part = "otherwise" if chosen is None else f"branch {chosen}"
    outcome = await interpreter.run_steps(steps, location, part=part)
    branches.pop(key, None)
    if outcome.status == "failure":
        return outcome
    return Outcome.succeeded(
        {"chosen": None if chosen is None else chosen + 1, "data": outcome.data}
    )


async def _choose(step: BranchStep, location: Location, scope: Scope) -> int | None:
    facts = location.facts(scope)
    for number, branch in enumerate(step.branches):
        await scope.rest()
        if holds(branch.condition, facts):
            cause = BranchChosen("branch_chosen", number + 1, inspect(branch.condition, facts))
            note_step(scope, location, "chosen", cause)
            return number
    note_step(scope, location, "chosen", StepStated("otherwise_chosen"))
    return None
