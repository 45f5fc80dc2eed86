"""Explain failed calls to a run, in one sentence for the person who made them.

Every query, signal, update and cancellation of a run fails with these errors, and no others.
"""

import re
from shlex import quote
from typing import Literal, cast

from pydantic import BaseModel, JsonValue
from temporalio.api.errordetails.v1 import WorkflowNotReadyFailure
from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from coterie.dsl.strict_json import unsound_part
from coterie.failures import CommandError, ExitCode

UpdateName = Literal["decide", "retry", "skip", "amend", "redirect", "say", "push", "send_message"]
"""Updates that people send to a run."""

UpdateFailure = WorkflowUpdateFailedError | WorkflowUpdateRPCTimeoutOrCancelledError | RPCError
"""Errors that the client raises when an update fails."""

NO_ANSWER = (
    RPCStatusCode.UNAVAILABLE,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.CANCELLED,
)

_REQUESTS: dict[UpdateName, str] = {
    "decide": "this decision",
    "retry": "this retry",
    "skip": "this skip",
    "amend": "this change",
    "redirect": "this redirect",
    "say": "this message to an agent",
    "push": "this push configuration",
    "send_message": "this message",
}


_ENDED = re.compile("already completed|aborted by closing workflow")
"""What the server says of an update to a run that had ended, or that ended meanwhile."""


class Unanswered(CommandError):
    """No answer in time: the server is down, or no worker serves the run."""


class QueryRefused(Unanswered):
    """The run's workflow refuses a query: what it names does not exist, or it cannot run here."""


class UnknownRun(CommandError):
    """The server does not know the run."""

    def __init__(self, message: str, run: str) -> None:
        super().__init__(message)
        self.run = run


class NoWorker(Unanswered):
    """The server answers, but no worker serves the run's queue."""


def call_error(id: str, error: RPCError) -> CommandError:
    """Return the error for a call that failed."""
    match error.status:
        case RPCStatusCode.NOT_FOUND if _ENDED.search(error.message):
            return has_ended(id)
        case RPCStatusCode.NOT_FOUND:
            text = f"there is no run {id!r} on this server; `coterie runs` lists the existing ones"
            return UnknownRun(text, id)
        case (
            RPCStatusCode.PERMISSION_DENIED
            | RPCStatusCode.UNAUTHENTICATED
            | RPCStatusCode.INVALID_ARGUMENT
        ):
            return CommandError(f"the server rejects the request: {error.message}")
        case RPCStatusCode.FAILED_PRECONDITION if "failed state" in error.message:
            return Unanswered(
                f"the worker crashes repeatedly on run {id!r}: a bug, or the "
                "run was started by different code; see the worker's log"
            )
        case RPCStatusCode.RESOURCE_EXHAUSTED if waits_its_turn(error):
            return NoWorker(_no_worker(id))
        case RPCStatusCode.FAILED_PRECONDITION if "closed" in error.message:
            return CommandError(f"run {id!r} ended before a worker picked it up")
        case (
            RPCStatusCode.DEADLINE_EXCEEDED
            | RPCStatusCode.CANCELLED
            | RPCStatusCode.FAILED_PRECONDITION
        ):
            return NoWorker(_no_worker(id))
        case _:
            return Unanswered(f"the Temporal server does not answer ({error.message})")


def list_error(error: RPCError) -> CommandError:
    """Return the error for a list of runs that failed."""
    text = f"could not list runs: {error.message}"
    return Unanswered(text) if error.status in NO_ANSWER else CommandError(text)


def update_error(id: str, name: UpdateName, error: UpdateFailure) -> CommandError:
    """Return the error for an update that the run rejects, or that no worker answers."""
    match error:
        case WorkflowUpdateFailedError(cause=cause):
            because = cause.message if isinstance(cause, ApplicationError) else str(cause)
            return CommandError(
                f"the run refuses {_REQUESTS[name]}: {because}", ExitCode.RUN_FAILED
            )
        case RPCError():
            return call_error(id, error)
        case _:
            hint = "Then `coterie watch` shows whether it accepted the request"
            return Unanswered(f"{_no_worker(id)}. {hint}")


def has_ended(id: str) -> CommandError:
    """Return the error for a request to a finished run."""
    return CommandError(
        f"run {id!r} has already ended; see `coterie result {quote(id)}`",
        ExitCode.RUN_FAILED,
    )


def waits_its_turn(error: RPCError) -> bool:
    """Return whether the call can be repeated.

    A server keeps one query of a run until its worker answers, and rejects a second one.
    """
    return error.status == RPCStatusCode.RESOURCE_EXHAUSTED and "query buffer" in error.message


def task_was_lost(error: RPCError) -> bool:
    """Return whether an update can be sent again: its workflow task was lost, so no run saw it.

    A busy worker may lose a task right after the run has refused another update.
    """
    return any(
        detail.Is(WorkflowNotReadyFailure.DESCRIPTOR) for detail in error.grpc_status.details
    )


def _no_worker(id: str) -> str:
    return (
        f"no worker answers for run {id!r}; in the project that started it, start "
        f"`coterie worker` or resume it with `coterie run --resume {quote(id)}`"
    )


def check_sent(name: str, *parts: object) -> None:
    """Refuse a message or a query of a program that JSON cannot carry.

    Raises:
        CommandError: Names the part.
    """
    for part in parts:
        plain = part.model_dump() if isinstance(part, BaseModel) else part
        unsound = unsound_part(cast("JsonValue", plain))
        if unsound is not None:
            raise CommandError(f"in what {name!r} sends, {unsound}")
