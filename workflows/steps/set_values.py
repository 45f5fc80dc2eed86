"""Set: variables of this team visit or plan, filled from templates."""

from dsl.outcomes import Outcome
from dsl.steps import SetStep
from dsl.templates import fill
from workflows.place import Place
from workflows.scope import Scope


async def execute(step: SetStep, place: Place, scope: Scope) -> Outcome:
    """Fill the values in written order; each sees the ones before it."""
    frame = place.frame(scope)
    for name, value in step.values.items():
        frame.variables[name] = fill(value, place.facts(scope).names())
    return Outcome.succeeded({name: frame.variables[name] for name in step.values})
