"""What a run waits for, as the server describes it: calls, timers, its own next step, nothing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.api.enums.v1 import EventType, PendingActivityState, WorkflowExecutionStatus
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionResponse

from coterie.testing.simulation.clock import (
    SeenEvents,
    Sight,
    described_sight,
    read_events,
    with_timers,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RUNNING = WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING
COMPLETED = WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_COMPLETED
SCHEDULED = PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED
STARTED = PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
CANCELLING = PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED

Call = tuple[PendingActivityState.ValueType, float | None]
"""The state of a call, and in how many seconds its next attempt is due."""


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def described(
    *calls: Call, task: bool = False, status: WorkflowExecutionStatus.ValueType = RUNNING
) -> DescribeWorkflowExecutionResponse:
    made = DescribeWorkflowExecutionResponse()
    made.workflow_execution_info.status = status
    made.workflow_execution_info.history_length = 7
    made.workflow_extended_info.time_skipping_info.current_time.FromDatetime(NOW)
    if task:
        made.pending_workflow_task.SetInParent()
    for state, again in calls:
        call = made.pending_activities.add(state=state)
        if again is not None:
            call.next_attempt_schedule_time.FromDatetime(after(again))
    return made


IDLE = Sight(NOW, 7)
BUSY = replace(IDLE, busy=True)
HELD = replace(IDLE, held=True)
DESCRIBED: list[tuple[DescribeWorkflowExecutionResponse, Sight]] = [
    (described(), IDLE),
    (described(status=COMPLETED), replace(IDLE, ended=True)),
    (described((STARTED, None), task=True, status=COMPLETED), replace(IDLE, ended=True)),
    (described(task=True), BUSY),
    (described((SCHEDULED, None), task=True), BUSY),
    (described((STARTED, None)), BUSY),
    (described((CANCELLING, None)), BUSY),
    (described((SCHEDULED, None), (STARTED, None)), BUSY),
    (described((SCHEDULED, None)), HELD),
    (described((SCHEDULED, -1)), HELD),
    (described((SCHEDULED, 0)), HELD),
    (described((SCHEDULED, 5)), replace(IDLE, wake=after(5))),
    (described((SCHEDULED, 9), (SCHEDULED, 5)), replace(IDLE, wake=after(5))),
    (described((SCHEDULED, None), (SCHEDULED, 5)), replace(HELD, wake=after(5))),
]


@pytest.mark.parametrize(("run", "sight"), DESCRIBED)
def test_a_run_is_seen_as_the_server_describes_it(
    run: DescribeWorkflowExecutionResponse, sight: Sight
) -> None:
    assert described_sight(run) == sight


def test_a_run_whose_time_was_never_skipped_has_the_machines_clock() -> None:
    run = described()
    run.workflow_extended_info.Clear()
    before = datetime.now(UTC)
    assert before <= described_sight(run).now <= datetime.now(UTC)


def event(kind: EventType.ValueType, seconds: float, timer: str = "") -> HistoryEvent:
    made = HistoryEvent(event_type=kind)
    made.event_time.FromDatetime(NOW)
    if kind == EventType.EVENT_TYPE_TIMER_STARTED:
        made.timer_started_event_attributes.timer_id = timer
        made.timer_started_event_attributes.start_to_fire_timeout.FromTimedelta(
            timedelta(seconds=seconds)
        )
    elif kind == EventType.EVENT_TYPE_TIMER_FIRED:
        made.timer_fired_event_attributes.timer_id = timer
    elif kind == EventType.EVENT_TYPE_TIMER_CANCELED:
        made.timer_canceled_event_attributes.timer_id = timer
    else:
        skip = made.workflow_execution_time_skipping_transitioned_event_attributes
        skip.target_time.FromDatetime(after(seconds))
    return made


def test_a_history_shows_its_open_timers_and_its_latest_skip() -> None:
    skipped = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIME_SKIPPING_TRANSITIONED
    events = [
        event(EventType.EVENT_TYPE_TIMER_STARTED, 60, "1"),
        event(EventType.EVENT_TYPE_TIMER_STARTED, 30, "2"),
        event(EventType.EVENT_TYPE_TIMER_STARTED, 90, "3"),
        event(EventType.EVENT_TYPE_TIMER_STARTED, 10, "4"),
        event(skipped, 30),
        event(EventType.EVENT_TYPE_TIMER_FIRED, 0, "2"),
        event(EventType.EVENT_TYPE_TIMER_CANCELED, 0, "3"),
        event(EventType.EVENT_TYPE_TIMER_FIRED, 0, "of an earlier part"),
        event(EventType.EVENT_TYPE_TIMER_CANCELED, 0, "of an earlier part"),
        event(skipped, 10),
    ]
    assert read_events(events) == SeenEvents(10, (after(60), after(10)), after(30))
    assert read_events([]) == SeenEvents(0)


WAITING = replace(HELD, wake=after(5))


@pytest.mark.parametrize(
    ("sight", "seen", "found"),
    [
        (IDLE, SeenEvents(7), IDLE),
        (IDLE, SeenEvents(7, (after(9), after(4))), replace(IDLE, wake=after(4))),
        (WAITING, SeenEvents(7), WAITING),
        (WAITING, SeenEvents(7, (after(9),)), WAITING),
        (WAITING, SeenEvents(7, (after(4),)), replace(WAITING, wake=after(4))),
        (IDLE, SeenEvents(8), BUSY),
        (IDLE, SeenEvents(6), BUSY),
        (IDLE, SeenEvents(7, (NOW,)), BUSY),
        (IDLE, SeenEvents(7, (after(9), after(-1))), BUSY),
        (WAITING, SeenEvents(7, (NOW, after(9))), BUSY),
    ],
)
def test_an_idle_run_wakes_at_its_next_timer_or_attempt(
    sight: Sight, seen: SeenEvents, found: Sight
) -> None:
    assert with_timers(sight, seen) == found
