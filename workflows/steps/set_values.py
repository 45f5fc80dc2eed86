"""Set: variables of this team visit or plan, filled from templates."""

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import SetStep
from coterie.dsl.sizes import check_size
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope


async def execute(step: SetStep, location: Location, scope: Scope) -> Outcome:
    """Fill the values in written order; each sees the ones before it."""
    frame = location.frame(scope)
    for name, value in step.values.items():
        await scope.rest()
        filled = fill(value, location.facts(scope).names())
        check_size(filled, f"the variable {name!r} that {step.name!r} sets")
        frame.variables[name] = filled
    return Outcome.succeeded({name: frame.variables[name] for name in step.values})
