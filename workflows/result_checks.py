"""Result checks: `fail_when` turns a result that nobody can use into a failure of its step."""

from dsl.errors import TemplateFailed
from dsl.evaluate.because import condition_because
from dsl.evaluate.condition_evaluation import holds, inspect
from dsl.model.outcomes import Outcome
from dsl.model.steps import Step
from workflows.core.location import Location
from workflows.core.scope import Scope

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
