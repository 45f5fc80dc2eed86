"""The facts of an end: of a run, and of one visit of a team."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError, TerminatedError
from temporalio.exceptions import TimeoutError as RunTimeoutError

from coterie.dsl.model.outcomes import End, Failure
from coterie.failures import AT_LIMIT, ExitCode
from coterie.workflows.core.views import TeamResult

ClosedState = Literal["completed", "failed", "cancelled", "terminated", "timed out"]
"""What became of a run that is closed."""

CLOSED_STATES: Mapping[WorkflowExecutionStatus, ClosedState] = {
    WorkflowExecutionStatus.COMPLETED: "completed",
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.CANCELED: "cancelled",
    WorkflowExecutionStatus.TERMINATED: "terminated",
    WorkflowExecutionStatus.TIMED_OUT: "timed out",
}
"""By its status on the server."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended."""

    state: ClosedState
    result: TeamResult | None = None
    """None if the run ended without one: refused, cancelled, terminated."""
    failure: Failure | None = None
    """The failure of the run itself, of which it may have a result."""
    details: str = ""
    """What the server says about it: the reason of a termination, why the result is unknown."""

    @property
    def completed(self) -> bool:
        """Whether the run did what it was started for."""
        return self.state == "completed"

    @property
    def outcome(self) -> End:
        """The end that its result states; without a result, the nearest one."""
        match self.state:
            case "cancelled":
                return "cancelled"
            case "completed" if self.result is None:
                return "completed"
            case _:
                return "failed" if self.result is None else self.result.end

    @property
    def exit_code(self) -> ExitCode:
        """The exit code; each limit of a run has its own."""
        if self.completed:
            return ExitCode.DONE
        return AT_LIMIT.get("" if self.result is None else self.result.end, ExitCode.RUN_FAILED)


@dataclass(frozen=True, slots=True)
class VisitEnd:
    """How a visit of a team ended, or how the run ended before a visit."""

    team: str
    """Empty before the first team."""
    visit: int
    """0: before a visit of the team."""
    status: str | None
    """`success`, `failure`; `stopped`, by other branches; `left`, at the end of the run; or the
    name of the error that ended the run or the branch there."""
    because: str = ""
    next_team: str | None = None
    """None: the run or the branch ends."""
    updated: tuple[str, ...] = ()
    """Context paths that its route changed."""
    run: ClosedState | None = None
    """Of a visit that was left: what became of the run."""


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
