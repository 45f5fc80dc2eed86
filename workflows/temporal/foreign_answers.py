"""What others answer: results taken undecoded, and failures of whatever type.

The SDK would retry the workflow task forever if a result could not be decoded. So a result comes
as its payload, and one that is encrypted, too large or no JSON fails its call by name.
"""

from temporalio.common import RawValue
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    CancelledError,
    ChildWorkflowError,
    FailureError,
    NexusOperationError,
    TerminatedError,
    TimeoutType,
    WorkflowAlreadyStartedError,
)
from temporalio.exceptions import TimeoutError as CallTimedOut

from coterie.activities.contracts import FailureType
from coterie.dsl.apis.foreign_values import UnusableValue, foreign_value
from coterie.dsl.model.retryability import NON_RETRYABLE, NOTHING_HAPPENED
from coterie.dsl.model.temporal_calls import ActivityTarget, CommandTarget
from coterie.dsl.values import JsonValue
from coterie.dsl.visible import shortened_text
from coterie.workflows.core.decoding import INVALID_REFERENCE
from coterie.workflows.core.scope import Call, CallFailed, TemporalRequest

_MAX_MESSAGE = 4_000
_MAX_TYPE = 100

_OWN_TYPES = frozenset(
    {
        *(value for name, value in vars(FailureType).items() if name.isupper()),
        *NON_RETRYABLE,
        *NOTHING_HAPPENED,
    }
)
"""The types by which the interpreter decides: a failure of others under such a name is none."""

_TOO_LARGE = "PayloadsTooLarge"


def result_of(raw: RawValue | None, request: TemporalRequest, call: Call) -> JsonValue:
    """Return the value of a result.

    Raises:
        CallFailed: It is encrypted, too large, no JSON, or does not match its schema.
    """
    data = None if raw is None else raw.payload.data
    encoding = b"" if raw is None else raw.payload.metadata.get("encoding", b"")
    if encoding == INVALID_REFERENCE:
        raise unusable_result("it stands in a storage that this worker does not read", call)
    try:
        return foreign_value(data, encoding, request.target.output_schema)
    except UnusableValue as unusable:
        raise unusable_result(str(unusable), call) from None


def unusable_result(why: str, call: Call) -> CallFailed:
    """Return the failure of a call that has happened, and whose result cannot be used."""
    message = f"{call.summary} has answered, and its result cannot be used: {why}"
    return CallFailed(_unclear(call), shortened_text(message, _MAX_MESSAGE))


def _unclear(call: Call) -> str:
    """Return the type of a failure after which a `once` call may have happened."""
    is_once = call.options.effect == "once"
    return FailureType.OUTCOME_UNKNOWN if is_once else FailureType.FUNCTION_FAILED


def failure_of(error: FailureError, request: TemporalRequest, call: Call) -> CallFailed:
    """Return why a call failed; that its waiter was cancelled is found out before."""
    cause = error.cause if _is_wrapper(error) else error
    match cause:
        case WorkflowAlreadyStartedError():
            message = f"{call.summary}: a workflow of this id runs already, or has completed"
            return CallFailed(FailureType.FUNCTION_REFUSED, message)
        case CallTimedOut() if cause.type is TimeoutType.SCHEDULE_TO_START:
            message = f"{call.summary}: no worker of {_queue(request.target)} took it in time"
            return CallFailed("Timeout", message)
        case CallTimedOut():
            message = f"{call.summary} did not answer in time"
            is_once = call.options.effect == "once"
            return CallFailed(FailureType.OUTCOME_UNKNOWN if is_once else "Timeout", message)
        case ApplicationError() if cause.type == _TOO_LARGE:
            return unusable_result("it is larger than Temporal takes", call)
        case ApplicationError():
            return _named_failure(cause, call)
        case CancelledError():
            return CallFailed(_unclear(call), f"{call.summary} was cancelled, and not by this run")
        case TerminatedError():
            return CallFailed(_unclear(call), f"{call.summary} was terminated")
        case _:
            text = "its failure has no cause" if cause is None else str(cause)
            message = shortened_text(f"{call.summary}: {text}", _MAX_MESSAGE)
            return CallFailed(_unclear(call), message)


def _is_wrapper(error: FailureError) -> bool:
    return isinstance(error, ActivityError | ChildWorkflowError | NexusOperationError)


def _named_failure(cause: ApplicationError, call: Call) -> CallFailed:
    """Return a failure under the type that the other side gave it."""
    type = (cause.type or "")[:_MAX_TYPE]
    message = shortened_text(cause.message, _MAX_MESSAGE)
    if not type or type in _OWN_TYPES:
        named = f"{type}: {message}" if type else message
        return CallFailed(_unclear(call), f"{call.summary} failed: {named}")
    return CallFailed(type, message)


def _queue(target: CommandTarget) -> str:
    if isinstance(target, ActivityTarget):
        return f"the task queue {target.task_queue!r}"
    return "its task queue"
