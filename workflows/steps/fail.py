"""Fail: a named failure, for a try, for routing, or for whoever started the run."""

from dsl.outcomes import Outcome
from dsl.steps import FailStep
from dsl.templates import fill
from workflows.place import Place
from workflows.scope import Scope


async def execute(step: FailStep, place: Place, scope: Scope) -> Outcome:
    """The failure."""
    message = fill(step.message, place.facts(scope).names())
    return Outcome.failed(step.error, message if isinstance(message, str) else str(message))
