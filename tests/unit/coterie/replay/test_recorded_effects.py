"""The effects that a history records, and the first line of what a replay fails with."""

from datetime import timedelta

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from coterie.dsl.values import Json
from coterie.replay.effects import WorldEffect, recorded
from coterie.replay.replay import (
    _MAX_DIFFERENCES,  # pyright: ignore[reportPrivateUsage]
    _first_differences,  # pyright: ignore[reportPrivateUsage]
    _first_line,  # pyright: ignore[reportPrivateUsage]
    _others,  # pyright: ignore[reportPrivateUsage]
)
from coterie.replay.trace_events import Visit
from coterie.storage.wire import data_converter


def payload(value: object) -> Payload:
    (made,) = data_converter.payload_converter.to_payloads([value])
    return made


def of(*events: HistoryEvent) -> list[WorldEffect]:
    """The effects of a run whose own queue is `own`."""
    begun = HistoryEvent(event_id=1, event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED)
    begun.workflow_execution_started_event_attributes.task_queue.name = "own"
    return recorded(WorkflowHistory("w", [begun, *events]))


@pytest.mark.parametrize(("queue", "shown"), [("own", None), ("other", "other")])
def test_a_call_has_its_input_its_limits_and_another_queue(queue: str, shown: str | None) -> None:
    event = HistoryEvent(event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
    event.user_metadata.summary.CopyFrom(payload("t/check"))
    call = event.activity_task_scheduled_event_attributes
    call.activity_id, call.activity_type.name, call.task_queue.name = "5", "skill", queue
    call.input.payloads.append(payload({"a": 1}))
    call.start_to_close_timeout.FromTimedelta(timedelta(seconds=60))
    call.retry_policy.maximum_attempts = 3
    (found,) = of(event)
    assert (found.kind, found.key, found.label) == ("call", "5", "t/check")
    assert found.facts == {
        "activity": "skill",
        "task_queue": shown,
        "input": {"a": 1},
        "timeout": 60.0,
        "retry": {"maximumAttempts": 3},
        "summary": "t/check",
    }


def test_a_timer_has_its_length() -> None:
    event = HistoryEvent(event_type=EventType.EVENT_TYPE_TIMER_STARTED)
    event.timer_started_event_attributes.timer_id = "3"
    event.timer_started_event_attributes.start_to_fire_timeout.FromTimedelta(timedelta(seconds=9))
    assert of(event) == [WorldEffect("timer", "3", {"seconds": 9.0, "summary": ""})]


@pytest.mark.parametrize(
    ("accepted", "succeeds", "keys"),
    [("from-server", True, ["from-server"]), ("", True, ["own-id"]), ("from-server", False, [])],
)
def test_an_answer_has_the_id_under_which_its_update_was_accepted(
    accepted: str, succeeds: bool, keys: list[str]
) -> None:
    took = HistoryEvent(
        event_id=2, event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
    )
    took.workflow_execution_update_accepted_event_attributes.protocol_instance_id = accepted
    done = HistoryEvent(
        event_id=3, event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED
    )
    completed = done.workflow_execution_update_completed_event_attributes
    completed.accepted_event_id, completed.meta.update_id = 2, "own-id"
    if succeeds:
        completed.outcome.success.payloads.append(payload("yes"))
    else:
        completed.outcome.failure.message = "no"
    assert of(took, done) == [WorldEffect("answer", key, {"answer": "yes"}) for key in keys]


def ended(kind: str) -> HistoryEvent:
    name = f"EVENT_TYPE_WORKFLOW_EXECUTION_{kind}"
    event = HistoryEvent(event_type=EventType.Value(name))
    match kind:
        case "COMPLETED":
            result = event.workflow_execution_completed_event_attributes.result
            result.payloads.append(payload({"n": 1}))
        case "FAILED":
            failure = event.workflow_execution_failed_event_attributes.failure
            failure.message = "too late"
            failure.application_failure_info.details.payloads.append(payload({"n": 1}))
        case "CONTINUED_AS_NEW":
            given = event.workflow_execution_continued_as_new_event_attributes.input
            given.payloads.append(payload({"n": 1}))
        case _:
            pass
    return event


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        ("COMPLETED", {"ended": "completed", "n": 1}),
        ("FAILED", {"ended": "failed", "n": 1, "message": "too late"}),
        ("CONTINUED_AS_NEW", {"ended": "continued as new", "n": 1}),
        ("CANCELED", {"ended": "cancelled"}),
        ("TERMINATED", None),
        ("SIGNALED", None),
    ],
)
def test_an_end_has_what_the_run_came_to(kind: str, facts: Json | None) -> None:
    assert [effect.facts for effect in of(ended(kind))] == ([] if facts is None else [facts])


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (ValueError("one\ntwo"), "one"),
        (ValueError(), "ValueError"),
        (RuntimeError('x Failure { message: "he said \\"no\\"\\nat a", b }'), 'he said "no"'),
        (RuntimeError('Failure { source: "x" }\nmore'), 'Failure { source: "x" }'),
    ],
)
def test_a_failure_of_a_replay_is_shown_by_its_first_line(failure: Exception, line: str) -> None:
    assert _first_line(failure) == line


CALL = WorldEffect("call", "5", {"activity": "skill"}, "t/check")
TIMER = WorldEffect("timer", "3", {"seconds": 9.0}, "deadline")


@pytest.mark.parametrize(
    ("now", "ends"),
    [
        ([], []),
        ([CALL], []),
        ([WorldEffect("end", "", {"ended": "completed"})], []),
        ([WorldEffect("end", "", {"message": "late"})], ["it ends with: late"]),
        ([CALL, WorldEffect("end", "", {"message": "late"})], ["it ends with: late"]),
        ([WorldEffect("call", "5", {"message": "late"})], []),
    ],
)
def test_the_end_that_a_failed_replay_reached_is_shown_with_its_message(
    now: list[WorldEffect], ends: list[str]
) -> None:
    assert _others(now, now) == ends


def test_another_effect_comes_before_the_end_that_was_reached() -> None:
    end = WorldEffect("end", "", {"message": "late"})
    first, second = _others([CALL], [TIMER, end])
    assert "the call 5 (t/check)" in first
    assert second == "it ends with: late"


def test_a_visit_is_named_by_its_team_and_number() -> None:
    visit = Visit("review", 2, status="failure", because="because", next_team="fix")
    assert visit.name == "review#2"
    assert (visit.end.team, visit.end.visit, visit.end.next_team) == ("review", 2, "fix")


@pytest.mark.parametrize("beyond", [-1, 0, 1, 5])
def test_differences_beyond_the_first_few_are_counted(beyond: int) -> None:
    all = [f"step {number}" for number in range(_MAX_DIFFERENCES + beyond)]
    rest = (f"and {beyond} more",) if beyond > 0 else ()
    assert _first_differences(all) == (*all[:_MAX_DIFFERENCES], *rest)
