"""Read what a test can simulate from a run's histories: calls with results, messages."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeVar

from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import JsonValue, ValidationError
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHistory

from coterie.activities.contracts import (
    CALL_SKILL,
    RUN_AGENT,
    AgentRequest,
    AgentResponse,
    SkillRequest,
    SkillResult,
)
from coterie.dsl.model.outcomes import Failure as CallFailure
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.replay.links import continued
from coterie.runs.in_process.local_calls import LocalCall, local_calls
from coterie.runs.run_client import Run
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import TeamInput

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RecordedCallEvent:
    """One finished activity call."""

    request: AgentRequest | SkillRequest
    result: AgentResponse | SkillResult | CallFailure
    seconds: float
    """From the request to the end, including retries."""


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A message from outside."""

    kind: Literal["signal", "update", "cancel"]
    name: str
    payload: JsonValue
    at: datetime


async def histories(client: Client, id: str) -> list[WorkflowHistory]:
    """Fetch the histories of a run, oldest first: one, or one per continue-as-new.

    Raises:
        CommandError: The run does not exist, or is open.
    """
    latest = await Run(client, id).history()
    if latest.events[-1].event_type not in _ENDS:
        raise CommandError(f"run {id!r} is still open; record it when it has ended")
    found = [latest]
    while earlier := continued(found[0].events[0]):
        found.insert(0, await Run(client, id).history(earlier))
    return found


def beginning(first: WorkflowHistory) -> TeamInput:
    """Return the input of the run.

    Raises:
        CommandError: It is not a run of a team.
    """
    started = first.events[0].workflow_execution_started_event_attributes
    try:
        return _decode_payload(started.input, TeamInput)
    except (ValidationError, ValueError, RuntimeError, IndexError):
        raise CommandError(f"{first.workflow_id!r} is not a run of a team") from None


def began(first: WorkflowHistory) -> datetime:
    """Return the start time of the run."""
    return _moment(first.events[0].event_time)


def calls(parts: Iterable[WorkflowHistory]) -> Iterator[RecordedCallEvent]:
    """Yield every finished call, in the order of scheduling."""
    for part in parts:
        ends = {_scheduled_id(event): event for event in part.events if _scheduled_id(event)}
        local = local_calls(part.events)
        for event in part.events:
            if event.event_id in local:
                yield from _local(local[event.event_id])
            end = ends.get(event.event_id)
            if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED and end:
                call = _call(event, end)
                if call is not None:
                    yield call


def messages(parts: Iterable[WorkflowHistory]) -> Iterator[RecordedMessage]:
    """Yield every message from outside, in order."""
    for part in parts:
        for event in part.events:
            message = _message(event)
            if message is not None:
                yield message


_ENDS = (
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
)


def _scheduled_id(event: HistoryEvent) -> int:
    """Return the id of the call that an event ends; 0 if it ends none."""
    match event.event_type:
        case EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            return event.activity_task_completed_event_attributes.scheduled_event_id
        case EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED:
            return event.activity_task_failed_event_attributes.scheduled_event_id
        case EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
            return event.activity_task_timed_out_event_attributes.scheduled_event_id
        case _:
            return 0


def _call(event: HistoryEvent, end: HistoryEvent) -> RecordedCallEvent | None:
    scheduled = event.activity_task_scheduled_event_attributes
    seconds = (_moment(end.event_time) - _moment(event.event_time)).total_seconds()
    completed = end.activity_task_completed_event_attributes.result
    succeeded = end.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
    match scheduled.activity_type.name:
        case name if name == RUN_AGENT:
            answer = _decode_payload(completed, AgentResponse) if succeeded else _failure(end)
            return RecordedCallEvent(
                _decode_payload(scheduled.input, AgentRequest), answer, seconds
            )
        case name if name == CALL_SKILL:
            result = _decode_payload(completed, SkillResult) if succeeded else _failure(end)
            return RecordedCallEvent(
                _decode_payload(scheduled.input, SkillRequest), result, seconds
            )
        case _:
            return None


def _local(call: LocalCall) -> Iterator[RecordedCallEvent]:
    """Yield a local activity; of a failed one, what was asked is not recorded."""
    if call.result is not None:
        yield RecordedCallEvent(call.request, call.result, call.result.seconds)


def _failure(end: HistoryEvent) -> CallFailure:
    """Return a call's failure as the run saw it."""
    if end.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
        return CallFailure(type="Timeout", message="it did not answer in time")
    failure: Failure = end.activity_task_failed_event_attributes.failure
    kind = failure.application_failure_info.type or "Error"
    return CallFailure(type=kind, message=failure.message)


def _message(event: HistoryEvent) -> RecordedMessage | None:
    at = _moment(event.event_time)
    match event.event_type:
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
            signal = event.workflow_execution_signaled_event_attributes
            return RecordedMessage("signal", signal.signal_name, _json(signal.input.payloads), at)
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
            update = event.workflow_execution_update_accepted_event_attributes
            asked = update.accepted_request.input
            return RecordedMessage("update", asked.name, _json(asked.args.payloads), at)
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
            return RecordedMessage("cancel", "", None, at)
        case _:
            return None


def _json(payloads: Sequence[Payload]) -> JsonValue:
    if not payloads:
        return None
    value: JsonValue = data_converter.payload_converter.from_payload(payloads[0])
    return value


def _decode_payload(payloads: Payloads, model: type[T]) -> T:
    return data_converter.payload_converter.from_payload(payloads.payloads[0], model)


def _moment(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=UTC)


def json_of(message: RecordedMessage) -> Json:
    """Return a message's payload if it is a mapping."""
    return message.payload if isinstance(message.payload, dict) else {}
