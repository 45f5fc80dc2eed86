"""Read the end of a run that failed, was terminated or timed out."""

from pydantic import ValidationError
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError, TerminatedError
from temporalio.exceptions import TimeoutError as RunTimeoutError

from coterie.dsl.model.outcomes import Failure
from coterie.runs.ends.end_facts import RunEnd
from coterie.workflows.core.views import TeamResult


def failed_end(error: WorkflowFailureError) -> RunEnd:
    """Return the end that the server reports as a failure, with the result that it carries."""
    cause = error.cause
    match cause:
        case ApplicationError():
            result = _detail(cause)
            failure = Failure(type=cause.type or "Failed", message=cause.message)
            return RunEnd("failed", result, failure)
        case TerminatedError():
            return RunEnd("terminated", details=cause.message)
        case RunTimeoutError():
            return RunEnd("timed out")
        case _:
            return RunEnd("failed", details=str(cause))


def _detail(cause: ApplicationError) -> TeamResult | None:
    """Return the result that a failed run carries as its failure's first detail."""
    try:
        return TeamResult.model_validate(cause.details[0]) if cause.details else None
    except ValidationError:
        return None
