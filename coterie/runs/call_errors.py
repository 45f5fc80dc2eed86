"""What a failed call to a run means, in one sentence for the person who made it.

Every query, signal, update and cancellation of a run fails with these errors, and no others.
"""

from typing import Literal

from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from coterie.failures import CommandError, ExitCode

UpdateName = Literal["decide", "retry", "skip", "amend", "redirect"]
"""The updates that people send to a run."""

UpdateFailure = WorkflowUpdateFailedError | WorkflowUpdateRPCTimeoutOrCancelledError | RPCError
"""What the client raises when an update fails."""

_REQUESTS: dict[UpdateName, str] = {
    "decide": "this decision",
    "retry": "this retry",
    "skip": "this skip",
    "amend": "this change",
    "redirect": "this redirect",
}


class Unanswered(CommandError):
    """Nobody answered in time: the server is away, or no worker serves the run."""


class NoWorker(Unanswered):
    """The server is there; no worker serves the run's queue."""


def call_error(id: str, error: RPCError) -> CommandError:
    """Return the error for a call that the server did not answer as asked."""
    match error.status:
        case RPCStatusCode.NOT_FOUND if "completed" in error.message:
            return has_ended(id)
        case RPCStatusCode.NOT_FOUND:
            return CommandError(
                f"there is no run {id!r} on this server; `coterie runs` lists those that there are"
            )
        case (
            RPCStatusCode.PERMISSION_DENIED
            | RPCStatusCode.UNAUTHENTICATED
            | RPCStatusCode.INVALID_ARGUMENT
        ):
            return CommandError(f"the server refuses: {error.message}")
        case RPCStatusCode.FAILED_PRECONDITION if "failed state" in error.message:
            return Unanswered(
                f"the worker breaks down on the run {id!r} again and again: a bug, or the "
                "run was begun by other code; the worker's log says more"
            )
        case RPCStatusCode.RESOURCE_EXHAUSTED if waits_its_turn(error):
            return NoWorker(_no_worker(id))
        case RPCStatusCode.FAILED_PRECONDITION if "closed" in error.message:
            return CommandError(f"the run {id!r} ended before a worker took it")
        case (
            RPCStatusCode.DEADLINE_EXCEEDED
            | RPCStatusCode.CANCELLED
            | RPCStatusCode.FAILED_PRECONDITION
        ):
            return NoWorker(_no_worker(id))
        case _:
            return Unanswered(f"the Temporal server does not answer ({error.message})")


def update_error(id: str, name: UpdateName, error: UpdateFailure) -> CommandError:
    """Return the error for an update that the run refused, or that nobody answered."""
    match error:
        case WorkflowUpdateFailedError(cause=cause):
            because = cause.message if isinstance(cause, ApplicationError) else str(cause)
            return CommandError(
                f"the run refuses {_REQUESTS[name]}: {because}", ExitCode.RUN_FAILED
            )
        case RPCError():
            return call_error(id, error)
        case _:
            hint = "Whether it will take the request then, `coterie watch` shows"
            return Unanswered(f"{_no_worker(id)}. {hint}")


def has_ended(id: str) -> CommandError:
    """Return the error for a request to a run that is over."""
    return CommandError(
        f"the run {id!r} has ended; `coterie result {id}` shows what it came to",
        ExitCode.RUN_FAILED,
    )


def waits_its_turn(error: RPCError) -> bool:
    """Whether the call can be repeated.

    A server keeps one query of a run until its worker answers, and refuses a second.
    """
    return error.status == RPCStatusCode.RESOURCE_EXHAUSTED and "query buffer" in error.message


def _no_worker(id: str) -> str:
    return (
        f"no worker answers for the run {id!r}; in the project where it was begun, start "
        f"`coterie worker` or go on with `coterie run --resume {id}`"
    )
