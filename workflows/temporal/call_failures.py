"""Queues and failures of calls: where a call runs, and what the failure of its activity means.

Calls share the run's own queue, which starts them without a detour. A provider with a rate limit
has its own queue, where the server enforces the limit over all workers. Plans cannot name queues: a
worker that gets such a call refuses it and names the queue. So the name is in the run's history,
and nobody who starts a run can invent one.
"""

from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256

from pydantic import ValidationError
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    CancelledError,
    FailureError,
    TimeoutType,
)
from temporalio.exceptions import TimeoutError as CallTimedOut

from coterie.activities.contracts import WORKER_STOPPED, FailureType, OwnQueue, Spent
from coterie.dsl.model.tools.asked_input import AskedInput
from coterie.dsl.paths import get, parse
from coterie.dsl.values import Json
from coterie.workflows.core.scope import Call, CallFailed

MAX_WAIT = timedelta(minutes=15)
"""Maximum wait in such a queue. Then the call comes back to the run's own queue, whose worker sends
it there again, or makes it if the limit was lifted and no worker serves that queue any more.
"""

_MAX_KEY_LENGTH = 64


class Elsewhere(Exception):
    """A call that was not made: its provider is called through this queue."""

    def __init__(self, queue: OwnQueue) -> None:
        self.queue = queue
        super().__init__(queue.name)


class NotTaken(Exception):
    """A call that no worker took in time."""


def fairness_key(queue: OwnQueue, run_id: str, context: Json) -> str:
    """Return the fairness key of a call: the value at the path, or else the run."""
    key = run_id
    if queue.fair_by != "run":
        value = get(context, parse(queue.fair_by))
        if isinstance(value, str | int) and not isinstance(value, bool):
            key = f"{queue.fair_by}={value}"
    if len(key.encode()) <= _MAX_KEY_LENGTH:
        return key
    return sha256(key.encode(), usedforsecurity=False).hexdigest()


def cause_of(error: FailureError) -> BaseException | None:
    """Return why a call failed; a local activity fails with its cause alone."""
    return error.cause if isinstance(error, ActivityError) else error


def given_back(error: FailureError) -> ApplicationError | None:
    """Return the failure of an attempt that ended only because its worker stopped, or None."""
    cause = cause_of(error)
    return cause if isinstance(cause, ApplicationError) and cause.type == WORKER_STOPPED else None


def is_not_local(error: FailureError) -> bool:
    """Return whether the worker has refused to run a call within a workflow task."""
    cause = cause_of(error)
    return isinstance(cause, ApplicationError) and cause.type == FailureType.NOT_LOCAL


def expected_failure(error: FailureError, call: Call) -> BaseException:
    """Return the failure of a call as an expected one."""
    cause = cause_of(error)
    match cause:
        case ApplicationError() if given_back(error) is not None:
            return CallFailed(
                FailureType.OUTCOME_UNKNOWN,
                f"{call.summary} was cut off with its worker: whether it happened is not known",
                spent_of(cause.details),
            )
        case ApplicationError() if cause.type == FailureType.OWN_QUEUE:
            return Elsewhere(OwnQueue.model_validate(cause.details[0]))
        case ApplicationError():
            spent, question = spent_of(cause.details), _input_that_tool_asks(cause)
            return CallFailed(cause.type or "Error", cause.message, spent, question)
        case CallTimedOut() if cause.type is TimeoutType.SCHEDULE_TO_START:
            return NotTaken()
        case CallTimedOut() if call.options.effect == "once":
            return CallFailed(
                FailureType.OUTCOME_UNKNOWN,
                f"{call.summary} was lost on its way: whether it happened is not known",
                spent_of(cause.last_heartbeat_details),
            )
        case CallTimedOut() if cause.type is TimeoutType.HEARTBEAT:
            lost = "its worker was lost before it answered, and no attempt is left"
            spent = spent_of(cause.last_heartbeat_details)
            return CallFailed("Timeout", f"{call.summary}: {lost}", spent)
        case CallTimedOut():
            seconds = call.options.timeout
            return CallFailed(
                "Timeout",
                f"{call.summary} did not answer within {seconds:g} s",
                spent_of(cause.last_heartbeat_details),
            )
        case CancelledError():
            return cause
        case _:
            return error


def spent_of(details: Sequence[object]) -> Spent | None:
    """Return the usage of a failed call's attempts, from its failure or its last heartbeat."""
    if not details:
        return None
    try:
        return Spent.model_validate(details[0]).closed()
    except ValidationError:
        return None  # another failure, with details of its own


def _input_that_tool_asks(failure: ApplicationError) -> AskedInput | None:
    """Return what a tool asks a person, from the failure of its call."""
    if failure.type != FailureType.INPUT_REQUIRED or len(failure.details) < 2:
        return None
    try:
        return AskedInput.model_validate(failure.details[1])
    except ValidationError:
        return None  # of another version
