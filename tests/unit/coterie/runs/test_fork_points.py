"""The point where a fork continues is what the activity that looked for it gave."""

from temporalio.api.common.v1 import ActivityType, Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import (
    ActivityTaskCompletedEventAttributes,
    ActivityTaskScheduledEventAttributes,
    HistoryEvent,
)
from temporalio.client import WorkflowHistory

from coterie.activities.contracts import CALL_FUNCTION, FORK_RUN, ForkResult
from coterie.runs.histories.history_links import fork_point
from coterie.storage.histories import read_history
from coterie.storage.wire import data_converter
from tests.support.places import HISTORIES


def test_a_result_without_keys_is_no_fork_point() -> None:
    events = (*activity(1, CALL_FUNCTION, {}), *activity(3, FORK_RUN, ForkResult(at="review#2")))
    assert fork_point(WorkflowHistory("w", events)) == ForkResult(at="review#2")


def test_a_run_that_is_no_fork_has_no_point() -> None:
    assert fork_point(WorkflowHistory("w", activity(1, CALL_FUNCTION, {}))) is None


def test_a_recorded_fork_has_a_point() -> None:
    point = fork_point(read_history(HISTORIES / "forked.0.1.0.json"))
    assert point is not None
    assert point.at


def activity(number: int, name: str, result: object) -> tuple[HistoryEvent, HistoryEvent]:
    scheduled = ActivityTaskScheduledEventAttributes(activity_type=ActivityType(name=name))
    payloads = Payloads(payloads=data_converter.payload_converter.to_payloads([result]))
    completed = ActivityTaskCompletedEventAttributes(scheduled_event_id=number, result=payloads)
    return (
        HistoryEvent(
            event_id=number,
            event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
            activity_task_scheduled_event_attributes=scheduled,
        ),
        HistoryEvent(
            event_id=number + 1,
            event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
            activity_task_completed_event_attributes=completed,
        ),
    )
