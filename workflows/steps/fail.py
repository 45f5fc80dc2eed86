"""Fail: a named failure, for a `try`, for routing, or for the starter of the run."""

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import FailStep
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope


async def execute(step: FailStep, location: Location, scope: Scope) -> Outcome:
    """Fail with the named error."""
    message = fill(step.message, location.facts(scope).names())
    return Outcome.failed(step.error, message if isinstance(message, str) else str(message))
