"""Read the events of workflows and Nexus operations that a run calls, as those of calls."""

from datetime import datetime, timedelta

from temporalio.api.common.v1 import RetryPolicy
from temporalio.api.enums.v1 import EventType, ParentClosePolicy
from temporalio.api.history.v1 import HistoryEvent

from coterie.activities.contracts import FailureType
from coterie.runs.histories.recorded_events import (
    CallEnded,
    CallLeft,
    CallScheduled,
    CallStarted,
    RecordedEvent,
)
from coterie.runs.histories.recorded_values import NO_VALUE, RecordedFailure, RecordedValue
from coterie.storage.wire import text_of
from coterie.workflows.core.memo_keys import CALL, CALL_HEADER

_CANCELLED = RecordedFailure("", "cancelled")


def of_foreign_call(event: HistoryEvent, at: datetime) -> RecordedEvent | None:
    """Read one event; None if it is of something else."""
    return _of_workflow(event, at) or _of_operation(event, at)


def _of_workflow(event: HistoryEvent, at: datetime) -> RecordedEvent | None:
    id = event.event_id
    match event.event_type:
        case EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
            it = event.start_child_workflow_execution_initiated_event_attributes
            return CallScheduled(
                id,
                at,
                text_of(it.memo.fields[CALL]) if CALL in it.memo.fields else it.workflow_id,
                it.workflow_type.name,
                it.task_queue.name,
                RecordedValue(it.input.payloads),
                it.workflow_execution_timeout.ToTimedelta(),
                it.retry_policy,
                text_of(event.user_metadata.summary),
                it.parent_close_policy == ParentClosePolicy.PARENT_CLOSE_POLICY_ABANDON,
            )
        case EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED:
            it = event.start_child_workflow_execution_failed_event_attributes
            failure = RecordedFailure(FailureType.FUNCTION_REFUSED, "a workflow of this id exists")
            return CallEnded(id, at, it.initiated_event_id, "failed", NO_VALUE, failure)
        case EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
            it = event.child_workflow_execution_started_event_attributes
            return CallStarted(id, at, it.initiated_event_id, 1, None)
        case EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
            it = event.child_workflow_execution_completed_event_attributes
            value = RecordedValue(it.result.payloads)
            return CallEnded(id, at, it.initiated_event_id, "completed", value)
        case EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED:
            it = event.child_workflow_execution_failed_event_attributes
            failure = RecordedFailure.of(it.failure)
            return CallEnded(id, at, it.initiated_event_id, "failed", NO_VALUE, failure)
        case EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT:
            it = event.child_workflow_execution_timed_out_event_attributes
            failure = RecordedFailure("", "it did not answer in time")
            return CallEnded(id, at, it.initiated_event_id, "timed out", NO_VALUE, failure)
        case EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED:
            it = event.child_workflow_execution_canceled_event_attributes
            return CallEnded(id, at, it.initiated_event_id, "cancelled", NO_VALUE, _CANCELLED)
        case EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED:
            it = event.child_workflow_execution_terminated_event_attributes
            failure = RecordedFailure("", "terminated")
            return CallEnded(id, at, it.initiated_event_id, "failed", NO_VALUE, failure)
        case _:
            return None


def _of_operation(event: HistoryEvent, at: datetime) -> RecordedEvent | None:
    id = event.event_id
    match event.event_type:
        case EventType.EVENT_TYPE_NEXUS_OPERATION_SCHEDULED:
            it = event.nexus_operation_scheduled_event_attributes
            return CallScheduled(
                id,
                at,
                it.nexus_header.get(CALL_HEADER, f"nexus.{id}"),
                it.operation,
                it.endpoint,
                RecordedValue([it.input]),
                timedelta(seconds=it.schedule_to_close_timeout.seconds),
                RetryPolicy(),
                text_of(event.user_metadata.summary),
                starts_unseen=True,
            )
        case EventType.EVENT_TYPE_NEXUS_OPERATION_STARTED:
            it = event.nexus_operation_started_event_attributes
            return CallStarted(id, at, it.scheduled_event_id, 1, None)
        case EventType.EVENT_TYPE_NEXUS_OPERATION_COMPLETED:
            it = event.nexus_operation_completed_event_attributes
            value = RecordedValue([it.result])
            return CallEnded(id, at, it.scheduled_event_id, "completed", value)
        case EventType.EVENT_TYPE_NEXUS_OPERATION_FAILED:
            it = event.nexus_operation_failed_event_attributes
            failure = RecordedFailure.of(it.failure)
            return CallEnded(id, at, it.scheduled_event_id, "failed", NO_VALUE, failure)
        case EventType.EVENT_TYPE_NEXUS_OPERATION_TIMED_OUT:
            it = event.nexus_operation_timed_out_event_attributes
            failure = RecordedFailure.of(it.failure)
            return CallEnded(id, at, it.scheduled_event_id, "timed out", NO_VALUE, failure)
        case EventType.EVENT_TYPE_NEXUS_OPERATION_CANCEL_REQUESTED:
            it = event.nexus_operation_cancel_requested_event_attributes
            return CallLeft(id, at, it.scheduled_event_id)
        case EventType.EVENT_TYPE_NEXUS_OPERATION_CANCELED:
            it = event.nexus_operation_canceled_event_attributes
            return CallEnded(id, at, it.scheduled_event_id, "cancelled", NO_VALUE, _CANCELLED)
        case _:
            return None
