"""Every call of a step is reported from the history: prompts, answers, attempts, cost."""

import json

from activities.contracts import AgentRequest
from coterie.rendering.calls_text import call_data, calls_text
from coterie.runs.recorded_calls import filled_prompts, in_visits, recorded_calls
from coterie.storage.histories import read_history
from tests.support.places import HISTORIES
from workflows.core.views import TrailEntry

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
