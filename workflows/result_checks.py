"""Result checks: `fail_when` turns a result that nobody can use into a failure of its step."""

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.evaluate.because import condition_because
from coterie.dsl.evaluate.condition_evaluation import holds, inspect
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import Step
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope

RESULT_REJECTED = "ResultRejected"


def check_result(
    step: Step, outcome: Outcome, seconds: float, location: Location, scope: Scope
) -> Outcome:
    """Return the outcome; a failure with the same data if the step's `fail_when` holds.

    Args:
        step: The step that ended.
        outcome: What one attempt of it came to.
        seconds: The time that the attempt took.
        location: Where the step stands.
        scope: The scope of the run.
    """
    if step.fail_when is None or not outcome.success:
        return outcome
    facts = location.facts(scope).with_result(step.name, outcome.timed(seconds))
    try:
        if not holds(step.fail_when, facts):
            return outcome
        found = condition_because(inspect(step.fail_when, facts))
    except TemplateFailed as error:
        message = f"`fail_when` of {step.name!r}: {error}"
        return Outcome.failed(type(error).__name__, message, outcome.data)
    message = f"`fail_when` of {step.name!r} holds: {found}"
    return Outcome.failed(RESULT_REJECTED, message, outcome.data)
