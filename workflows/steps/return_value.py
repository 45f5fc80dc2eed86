"""Return: the end of this plan, or of this team's tasks, with a value."""

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import ReturnStep
from coterie.dsl.sizes import check_size
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.core.causes.step_causes import StepStated
from coterie.workflows.core.location import Location, Returned
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import note_step


async def execute(step: ReturnStep, location: Location, scope: Scope) -> Outcome:
    """Leave every block up to the plan or team.

    Raises:
        Returned: always.
    """
    tasks = location.frame(scope).tasks
    earlier = tasks.get(step.name)
    if earlier is not None and earlier.success:  # resumed in a `finally` on the way out
        raise Returned(earlier.data)
    value = fill(step.value, location.facts(scope).names())
    check_size(value, f"the value that {step.name!r} returns")
    tasks[step.name] = Outcome.succeeded(value)
    note_step(scope, location, "success", StepStated("plan_returned"))
    raise Returned(value)
