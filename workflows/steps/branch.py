"""A branch: the first way whose condition holds, or `otherwise`."""

from dsl.evaluate.condition_evaluation import holds, inspect
from dsl.model.outcomes import Outcome
from dsl.model.steps import BranchStep, Step
from workflows.core.location import Interpreter, Location
from workflows.core.scope import Scope
from workflows.core.trail_causes import BranchChosen, StepStated
from workflows.skipped_steps import skip_steps


async def execute(
    step: BranchStep, place: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Choose once, then run the way that was chosen."""
    block = place.block(scope, "branch")
    if block.chosen is None:
        block.chosen = await _choose(step, place, scope)
        for number, way in enumerate(step.branches):
            if number != block.chosen:
                skip_steps(way.steps, place, scope)
        if block.chosen >= 0:
            skip_steps(step.otherwise, place, scope)
    steps: tuple[Step, ...] = (
        step.otherwise if block.chosen < 0 else step.branches[block.chosen].steps
    )
    outcome = await interpreter.run_steps(steps, place, part=f"way {block.chosen}")
    chosen = block.chosen
    place.close_block(scope, "branch")
    if outcome.status == "failure":
        return outcome
    return Outcome.succeeded({"chosen": None if chosen < 0 else chosen + 1, "data": outcome.data})


async def _choose(step: BranchStep, place: Location, scope: Scope) -> int:
    facts = place.facts(scope)
    for number, way in enumerate(step.branches):
        await scope.rest()
        if holds(way.condition, facts):
            cause = BranchChosen("branch_chosen", number + 1, inspect(way.condition, facts))
            place.note(scope, "step", cause, status="chosen")
            return number
    place.note(scope, "step", StepStated("otherwise_chosen"), status="chosen")
    return -1
