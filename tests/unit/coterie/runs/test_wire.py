"""What travels comes back as it was, without what is default."""

import json

from pydantic import TypeAdapter
from temporalio.api.common.v1 import Payload

from coterie.dsl.model.plan import Plan, Routing, Rule, Team
from coterie.dsl.model.steps import Step
from coterie.dsl.values import Json
from coterie.storage.wire import data_converter, text_of
from coterie.workflows.core.decoding import INVALID_REFERENCE
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.views import RunStatus
from tests.support.references import forged

LOOP: Json = {
    "kind": "loop",
    "name": "again",
    "max_iterations": 3,
    "while": {
        "and": [
            {"context_field": "a", "operator": "exists"},
            {"not": {"task": "x", "status": "success"}},
        ]
    },
    "body": [{"kind": "set", "name": "s", "values": {"a": 0, "b": None, "c": [], "d": {}}}],
}


def sent(value: object) -> Payload:
    payload = data_converter.payload_converter.to_payload(value)
    assert payload.metadata["encoding"] == b"json/plain"
    return payload


def plan() -> Plan:
    step: Step = TypeAdapter[Step](Step).validate_python(LOOP)
    routing = Routing(rules=(Rule(next_team=None),), ends_by_default=True)
    team = Team(id="t", name="t", steps=(step,), routing=routing)
    return Plan(name="p", entry_team="t", teams={"t": team}).with_digest()


def test_a_plan_comes_back_as_it_was_under_its_digest() -> None:
    given = TeamInput(plan=plan(), context={"empty": None, "zero": 0, "list": []})
    back = data_converter.payload_converter.from_payload(sent(given), TeamInput)
    assert back == given
    assert back.plan is not None
    assert back.plan.with_digest().digest == back.plan.digest


def test_the_wire_has_the_names_that_people_write() -> None:
    data = sent(TeamInput(plan=plan())).data.decode()
    assert '"while":{"and":[' in data
    assert '"not":' in data
    assert "all_of" not in data


def test_defaults_stay_at_home_and_values_of_people_do_not() -> None:
    data = json.loads(sent(TeamInput(plan=plan(), context={"a": None, "b": 0, "c": []})).data)
    assert data["context"] == {"a": None, "b": 0, "c": []}
    assert "team" not in data
    assert "limits" not in data["plan"]
    body = data["plan"]["teams"]["t"]["steps"][0]["body"]
    assert body[0]["values"] == {"a": 0, "b": None, "c": [], "d": {}}


def test_lists_of_messages_and_plain_values_travel_too() -> None:
    pending = [Pending(id="a", prompt="b", since="c")]
    converter = data_converter.payload_converter
    assert converter.from_payload(sent(pending), list[Pending]) == pending
    assert converter.from_payload(sent({"a": None}), dict) == {"a": None}
    assert converter.from_payload(sent("text"), str) == "text"


def test_a_status_without_anything_to_say_is_still_one() -> None:
    status = RunStatus.model_validate(
        {
            "plan": "p",
            "digest": "d",
            "state": "running",
            "team": None,
            "visit": None,
            "teams_run": 0,
            "max_total_teams": 30,
            "visits": {},
            "model_calls": 0,
            "function_calls": 0,
            "usage": {},
            "events": 0,
        }
    )
    assert data_converter.payload_converter.from_payload(sent(status), RunStatus) == status


def test_a_summary_that_is_no_text_is_empty_and_raises_nothing() -> None:
    odd = [
        Payload(),
        Payload(metadata={"encoding": b"\xff"}, data=b"x"),
        Payload(metadata={"encoding": b"nobody's"}, data=b"x"),
        Payload(metadata={"encoding": INVALID_REFERENCE}, data=b"x"),
        Payload(metadata={"encoding": b"json/plain"}, data=b"[" * 100_000),
        Payload(metadata={"encoding": b"json/plain"}, data=b"\xff"),
        Payload(metadata={"encoding": b"json/protobuf", "messageType": b"x"}, data=b"{}"),
        sent(12),
        sent(["a"]),
        sent({"a": "b"}),
    ]
    assert [text_of(payload) for payload in odd] == [""] * len(odd)
    assert [text_of(payload) for payload in forged()[:10]] == [""] * 10
    assert text_of(sent("research")) == "research"
