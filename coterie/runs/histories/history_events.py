"""Read the events of a history: only `foreign_events` reads forms of Temporal's API, too."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from pydantic import ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from coterie.failures import CommandError
from coterie.runs.histories.foreign_events import of_foreign_call
from coterie.runs.histories.recorded_events import (
    CallEnded,
    CallLeft,
    CallScheduled,
    CallStarted,
    CancelRequested,
    ContinuedAsNew,
    MarkerRecorded,
    OtherEvent,
    RecordedEvent,
    RunClosed,
    RunStarted,
    SignalReceived,
    TaskEvent,
    TaskFailure,
    TimerFired,
    TimerStarted,
    UpdateAccepted,
    UpdateCompleted,
)
from coterie.runs.histories.recorded_values import NO_VALUE, RecordedFailure, RecordedValue
from coterie.storage.wire import text_of
from coterie.workflows.core.senders import SENDER, Sender

_FAILED_CAUSE = "WORKFLOW_TASK_FAILED_CAUSE_"


def started(history: WorkflowHistory) -> RunStarted:
    """Read the first event of a history.

    Raises:
        CommandError: It is none.
    """
    match read_event(history.events[0]):
        case RunStarted() as first:
            return first
        case _:
            raise CommandError("the history does not begin with the start of a run")


def closed(history: WorkflowHistory) -> RunClosed | None:
    """Return how a run ended, from its latest history; None if it is open."""
    last = read_event(history.events[-1])
    return last if isinstance(last, RunClosed) else None


def read_events(events: Iterable[HistoryEvent]) -> Iterator[RecordedEvent]:
    """Read each event."""
    return map(read_event, events)


def read_event(event: HistoryEvent) -> RecordedEvent:
    """Read one event."""
    at = event.event_time.ToDatetime(UTC)
    return (
        _of_call(event, at)
        or of_foreign_call(event, at)
        or _of_timer(event, at)
        or _of_message(event, at)
        or _of_run(event, at)
    )


def _of_call(event: HistoryEvent, at: datetime) -> RecordedEvent | None:
    id = event.event_id
    match event.event_type:
        case EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            it = event.activity_task_scheduled_event_attributes
            type, queue, timeout = it.activity_type, it.task_queue, it.start_to_close_timeout
            value = RecordedValue(it.input.payloads)
            return CallScheduled(
                id,
                at,
                it.activity_id,
                type.name,
                queue.name,
                value,
                timeout.ToTimedelta(),
                it.retry_policy,
                text_of(event.user_metadata.summary),
            )
        case EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED:
            it = event.activity_task_started_event_attributes
            failure = RecordedFailure.of(it.last_failure) if it.HasField("last_failure") else None
            return CallStarted(id, at, it.scheduled_event_id, it.attempt, failure)
        case EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            it = event.activity_task_completed_event_attributes
            value = RecordedValue(it.result.payloads)
            return CallEnded(id, at, it.scheduled_event_id, "completed", value)
        case EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED:
            it = event.activity_task_failed_event_attributes
            failure = RecordedFailure.of(it.failure)
            return CallEnded(id, at, it.scheduled_event_id, "failed", NO_VALUE, failure)
        case EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
            it = event.activity_task_timed_out_event_attributes
            failure = RecordedFailure.of(it.failure)
            return CallEnded(id, at, it.scheduled_event_id, "timed out", NO_VALUE, failure)
        case EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
            it = event.activity_task_cancel_requested_event_attributes
            return CallLeft(id, at, it.scheduled_event_id)
        case EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
            it = event.activity_task_canceled_event_attributes
            failure = RecordedFailure("", "cancelled")
            return CallEnded(id, at, it.scheduled_event_id, "cancelled", NO_VALUE, failure)
        case EventType.EVENT_TYPE_MARKER_RECORDED:
            it = event.marker_recorded_event_attributes
            details = {key: RecordedValue(detail.payloads) for key, detail in it.details.items()}
            failure = RecordedFailure.of(it.failure) if it.HasField("failure") else None
            task, summary = it.workflow_task_completed_event_id, event.user_metadata.summary
            return MarkerRecorded(id, at, it.marker_name, task, details, failure, text_of(summary))
        case _:
            return None


def _of_timer(event: HistoryEvent, at: datetime) -> RecordedEvent | None:
    id = event.event_id
    match event.event_type:
        case EventType.EVENT_TYPE_TIMER_STARTED:
            it = event.timer_started_event_attributes
            length, summary = it.start_to_fire_timeout.ToTimedelta(), event.user_metadata.summary
            return TimerStarted(id, at, it.timer_id, length, text_of(summary))
        case EventType.EVENT_TYPE_TIMER_FIRED:
            return TimerFired(id, at)
        case _:
            return None


def _of_message(event: HistoryEvent, at: datetime) -> RecordedEvent | None:
    id = event.event_id
    match event.event_type:
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
            it = event.workflow_execution_signaled_event_attributes
            value, sender = RecordedValue(it.input.payloads), _sender(it.header.fields)
            return SignalReceived(id, at, it.signal_name, value, sender)
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
            it = event.workflow_execution_update_accepted_event_attributes
            message, update = it.accepted_request.input, it.accepted_request.meta.update_id
            value, sender = RecordedValue(message.args.payloads), _sender(message.header.fields)
            instance = it.protocol_instance_id
            return UpdateAccepted(id, at, message.name, value, update, instance, sender)
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
            it = event.workflow_execution_update_completed_event_attributes
            success, failure, update = it.outcome.success, it.outcome.failure, it.meta.update_id
            is_success = it.outcome.HasField("success")
            value = RecordedValue(success.payloads) if is_success else None
            refusal = None if is_success else RecordedFailure.of(failure)
            return UpdateCompleted(id, at, it.accepted_event_id, update, value, refusal)
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
            it = event.workflow_execution_cancel_requested_event_attributes
            return CancelRequested(id, at, it.cause, _sender_in(it.identity))
        case _:
            return None


def _of_run(event: HistoryEvent, at: datetime) -> RecordedEvent:
    id = event.event_id
    match event.event_type:
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
            it = event.workflow_execution_started_event_attributes
            memo = {key: text_of(value) for key, value in it.memo.fields.items()}
            value, before = RecordedValue(it.input.payloads), it.continued_execution_run_id
            first, original = it.first_execution_run_id, it.original_execution_run_id
            queue, sender = it.task_queue.name, _sender(it.header.fields)
            return RunStarted(id, at, queue, value, before, memo, first, original, sender)
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
            it = event.workflow_execution_continued_as_new_event_attributes
            return ContinuedAsNew(id, at, RecordedValue(it.input.payloads), it.new_execution_run_id)
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
            it = event.workflow_execution_completed_event_attributes
            value, next = RecordedValue(it.result.payloads), it.new_execution_run_id
            return RunClosed(id, at, "completed", value, next=next)
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
            it = event.workflow_execution_failed_event_attributes
            failure, next = RecordedFailure.of(it.failure), it.new_execution_run_id
            return RunClosed(id, at, "failed", failure=failure, next=next)
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
            return RunClosed(id, at, "cancelled")
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
            reason = event.workflow_execution_terminated_event_attributes.reason
            return RunClosed(id, at, "terminated", reason=reason)
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
            next = event.workflow_execution_timed_out_event_attributes.new_execution_run_id
            return RunClosed(id, at, "timed out", next=next)
        case _:
            return _of_task(event, at)


def _sender(headers: Mapping[str, Payload]) -> Sender | None:
    """Return the sender in the headers of an event; None if they name none, or a malformed one."""
    return RecordedValue([headers[SENDER]]).read_if(Sender) if SENDER in headers else None


def _sender_in(identity: str) -> Sender | None:
    try:
        return Sender.model_validate_json(identity)
    except ValidationError:
        return None


def _of_task(event: HistoryEvent, at: datetime) -> RecordedEvent:
    id = event.event_id
    match event.event_type:
        case (
            EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED
            | EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED
            | EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
        ):
            return TaskEvent(id, at)
        case EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            it = event.workflow_task_failed_event_attributes
            cause = WorkflowTaskFailedCause.Name(it.cause).removeprefix(_FAILED_CAUSE)
            failure = RecordedFailure.of(it.failure) if it.HasField("failure") else None
            return TaskFailure(id, at, cause, failure, it.base_run_id, it.new_run_id)
        case type:
            is_known = type in EventType.values()  # a newer server may have others
            name = EventType.Name(type) if is_known else str(int(type))
            return OtherEvent(id, at, name.removeprefix("EVENT_TYPE_"))
