"""What a history alone says of a run, and how two values of it are shown side by side."""

import pytest
from pydantic import JsonValue
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from coterie.dsl.model.outcomes import Failure
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.replay.effects import recorded
from coterie.replay.replay_differences import Difference, NoValue
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.histories.history_events import closed
from coterie.storage.wire import data_converter
from coterie.workflows.core.views import TeamResult

RESULT: Json = {
    "end": "completed",
    "because": "no route",
    "plan": "p",
    "digest": "d",
    "context": {},
    "visits": {"t": 1},
    "teams_run": 1,
    "model_calls": 0,
    "function_calls": 0,
    "usage": {},
    "trail_length": 3,
    "trail_digest": "t",
}


def payloads(*values: JsonValue) -> Payloads:
    return Payloads(payloads=payloads_of(*values))


def payloads_of(*values: JsonValue) -> list[Payload]:
    return list(data_converter.payload_converter.to_payloads(values))


def completed(*values: JsonValue) -> HistoryEvent:
    event = HistoryEvent(event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)
    event.workflow_execution_completed_event_attributes.result.CopyFrom(payloads(*values))
    return event


def failed(message: str, *values: JsonValue) -> HistoryEvent:
    event = HistoryEvent(event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED)
    failure = event.workflow_execution_failed_event_attributes.failure
    failure.message = message
    failure.application_failure_info.details.CopyFrom(payloads(*values))
    return event


def recorded_end(last: HistoryEvent) -> RunEnd | None:
    end = closed(WorkflowHistory("run", [last]))
    return None if end is None else end.end


def test_a_run_that_ended_with_a_result_has_it_and_one_that_was_refused_its_message() -> None:
    result = TeamResult.model_validate(RESULT)
    many, none = Failure("Failed", "too many"), Failure("Failed", "no such team")
    assert recorded_end(completed(RESULT)) == RunEnd("completed", result)
    assert recorded_end(failed("too many", RESULT)) == RunEnd("failed", result, many)
    assert recorded_end(failed("no such team")) == RunEnd("failed", None, none)
    assert recorded_end(completed()) == recorded_end(completed(None)) == RunEnd("completed")
    assert recorded_end(HistoryEvent(event_type=EventType.EVENT_TYPE_TIMER_STARTED)) is None


@pytest.mark.parametrize("value", [{"end": "of another kind"}, "text"])
def test_a_history_with_a_result_of_another_kind_is_not_of_a_run_of_ours(value: JsonValue) -> None:
    with pytest.raises(CommandError, match="this is not the history of a Coterie run"):
        recorded_end(completed(value))


def update(completed_by: int, *, success: bool = True) -> HistoryEvent:
    event = HistoryEvent(event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED)
    its = event.workflow_execution_update_completed_event_attributes
    its.accepted_event_id = completed_by
    its.meta.update_id = "named by the client"
    if success:
        its.outcome.success.CopyFrom(payloads({"ok": True}))
    else:
        its.outcome.failure.message = "refused"
    return event


def test_an_answer_to_an_update_is_named_as_the_update_was_accepted() -> None:
    started = HistoryEvent(event_id=1, event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED)
    accepted = HistoryEvent(
        event_id=7, event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
    )
    its = accepted.workflow_execution_update_accepted_event_attributes
    its.protocol_instance_id = "named by the engine"
    refused = update(7, success=False)
    events = [started, accepted, refused, update(7), update(8)]
    found = recorded(WorkflowHistory("run", events))
    assert [(effect.kind, effect.key, effect.facts) for effect in found] == [
        ("answer", "named by the engine", {"answer": {"ok": True}}),
        ("answer", "named by the client", {"answer": {"ok": True}}),
    ]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("abc", "abd", 'recorded "abc", now "abd"'),
        (12, 123, "recorded 12, now 123"),
        (123, 12, "recorded 123, now 12"),
        ("x" * 97, "x" * 97 + "y", f'recorded "{"x" * 97}", now "{"x" * 97}y"'),
        ("x" * 98, "x" * 98 + "y", f'recorded ...{"x" * 20}", now ...{"x" * 20}y"'),
        ("x" * 300 + "a", "x" * 300 + "b", f'recorded ...{"x" * 20}a", now ...{"x" * 20}b"'),
        ("a" * 300, "b" * 300, f'recorded "{"a" * 96}..., now "{"b" * 96}...'),
        (10**150, 2 * 10**150, f"recorded 1{'0' * 96}..., now 2{'0' * 96}..."),
        (["x" * 5] * 30, [], 'recorded ["xxxxx"'),
    ],
)
def test_two_values_are_shown_where_they_part(
    before: JsonValue, after: JsonValue, shown: str
) -> None:
    result = Difference("t/s#1", "f", before, after).description
    assert result.startswith(f"t/s#1: f: {shown}")
    assert len(result) < 230


@pytest.mark.parametrize(
    ("difference", "only_more"),
    [
        (Difference("", "trail", NoValue.NOTHING, 1), True),
        (Difference("", "output.trail", NoValue.NOTHING, 1), False),
        (Difference("", "carried.trail", NoValue.NOTHING, 1), True),
        (Difference("", "carried.main.trail", NoValue.NOTHING, 1), False),
        (Difference("", "trail", 1, NoValue.NOTHING), False),
        (Difference("t/s#1", "trail", NoValue.NOTHING, 1), False),
    ],
)
def test_only_a_field_of_the_whole_end_that_was_not_known_then_is_no_difference(
    difference: Difference, only_more: bool
) -> None:
    assert difference.only_more is only_more
