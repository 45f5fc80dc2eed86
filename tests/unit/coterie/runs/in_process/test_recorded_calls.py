"""Every call of a step is reported from the history: prompts, answers, attempts, cost."""

import json

import pytest
from temporalio.api.common.v1 import ActivityType, Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import ActivityTaskScheduledEventAttributes, HistoryEvent
from temporalio.client import WorkflowHistory

from coterie.activities.contracts import RUN_AGENT, AgentRequest
from coterie.rendering.calls_text import call_data, calls_text
from coterie.runs.histories.recorded_calls import (
    RecordedCall,
    filled_prompts,
    in_visits,
    recorded_calls,
)
from coterie.storage.histories import read_history
from coterie.storage.wire import data_converter
from coterie.workflows.core.views import TrailEntry
from tests.support.places import HISTORIES

HISTORY = HISTORIES / "every_kind.0.1.0.json"


def test_calls_of_a_step_tell_prompt_answer_attempts_and_cost() -> None:
    calls = recorded_calls(read_history(HISTORY))
    turns = [call for call in calls if isinstance(call.request, AgentRequest)]
    assert turns
    text = calls_text("r1", turns[0].path, turns[:1])
    assert "  attempts   1" in text
    assert "  prompt:\n    " in text
    assert "  answer:\n    " in text
    assert "  used       " in text
    request = turns[0].request
    assert isinstance(request, AgentRequest)
    assert "{{" not in filled_prompts(request)[1]


def test_a_call_is_advised_to_programs_with_the_prompt_that_was_sent() -> None:
    calls = recorded_calls(read_history(HISTORY))
    found = [call_data(call) for call in calls]
    json.dumps(found)
    turns = [one for one in found if one["kind"] == "model turn"]
    assert len(turns) > 1
    assert turns[0]["attempts"] == 1
    assert str(turns[0]["prompt"]).strip()
    assert "{{" not in str(turns[0]["prompt"])
    assert isinstance(turns[0]["answer"], dict)


def test_a_call_belongs_to_the_visit_that_had_begun() -> None:
    calls = recorded_calls(read_history(HISTORY))
    team = calls[0].path.partition("/")[0]
    at = [call.scheduled.isoformat() for call in calls]
    trail = [
        TrailEntry(number=1, at=at[0], kind="team", team=team, visit=1, because=""),
        TrailEntry(
            number=2, at="2999-01-01T00:00:00+00:00", kind="team", team=team, visit=2, because=""
        ),
    ]
    in_visits(calls[:1], trail)
    assert calls[0].visit == 1
    in_visits(calls[:1], [trail[0].model_copy(update={"visit": 7})])
    assert calls[0].visit == 7


def test_a_step_called_like_a_turn_keeps_its_name() -> None:
    assert (_scheduled("t/x.t2", "0001.t.x.t2", "x.t2").path) == "t/x.t2"
    assert (_scheduled("t/a step", "0001.t.a step", "a step").path) == "t/a step"


@pytest.mark.parametrize("sent", ["", ".q1", ".again", ".b3", ".b3.q1.again"])
def test_a_turn_has_its_number_however_it_was_sent(sent: str) -> None:
    call = _scheduled("t/x.t2.again.f1", f"0001.t.x.t2.again.f1{sent}", "x")
    assert call.path == "t/x"
    assert "model turn 2 " in calls_text("r", call.path, [call])


def test_what_an_activity_is_its_type_tells() -> None:
    """Its arguments may read as those of another one."""
    assert _recorded("t/x", "1", "x", activity="notify") == []


def _scheduled(summary: str, id: str, task: str) -> RecordedCall:
    (call,) = _recorded(summary, id, task)
    return call


def _recorded(summary: str, id: str, task: str, *, activity: str = RUN_AGENT) -> list[RecordedCall]:
    to_payloads = data_converter.payload_converter.to_payloads
    request = AgentRequest(team="t", task=task, provider="scripted")
    scheduled = ActivityTaskScheduledEventAttributes(
        activity_id=id,
        activity_type=ActivityType(name=activity),
        input=Payloads(payloads=to_payloads([request])),
    )
    event = HistoryEvent(
        event_id=1,
        event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
        activity_task_scheduled_event_attributes=scheduled,
    )
    event.user_metadata.summary.CopyFrom(to_payloads([summary])[0])
    return recorded_calls(WorkflowHistory("w", [event]))
