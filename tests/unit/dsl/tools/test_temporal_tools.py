"""Tools that already run on Temporal: what the worker says, what a document may, what is sent."""

from typing import Any

import pytest
import yaml

from coterie.activities import contracts
from coterie.dsl.apis.foreign_values import UnusableValue, foreign_value
from coterie.dsl.apis.temporal_inputs import InputRefused, arguments_of, workflow_id
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.compile.temporal_offers import contract_on_temporal
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.sections.temporal_document import OWN_ACTIVITIES
from coterie.dsl.model.temporal_calls import ActivityTarget
from coterie.dsl.model.tools.tool_contract import ActivityTool, WorkflowTool
from tests.support.engine import CAPABILITIES
from tests.support.others.temporal_plans import on_temporal, plan_calling


def problems(worker: dict[str, Any], tools: dict[str, Any] | None = None) -> str:
    """What the compiler says of a worker's section and of a document's tools."""
    document = {
        "worker": worker,
        "tools": tools or {},
        "orchestration": {
            "entry_team": "t",
            "teams": {"t": {"tasks": [{"name": "s", "type": "set", "values": {"x": 1}}]}},
        },
    }
    try:
        compile_sources([SourceText("t.yml", yaml.safe_dump(document))], CAPABILITIES, name="t")
    except InvalidDocument as error:
        return "; ".join(
            f"{one.code} {one.message} {one.allowed} {one.fix}" for one in error.problems
        )
    return ""


ACTIVITY = {"task_queue": "q"}


@pytest.mark.parametrize(
    ("worker", "message"),
    [
        ({"activities": {"a": {}}}, "task_queue"),
        ({"activities": {"a": {**ACTIVITY, "type": "run_agent"}}}, "one of Coterie's own"),
        ({"activities": {"a": {**ACTIVITY, "retries": 1}}}, "`retries` needs"),
        ({"activities": {"a": {**ACTIVITY, "arguments": ["x {y}"]}}}, "the whole value"),
        ({"activities": {"a": {**ACTIVITY, "labels": ["secret"]}}}, "secret"),
        ({"workflows": {"a": {}}}, "`task_queue` where it starts, or the `id`"),
        ({"workflows": {"a": {"signal": "s"}}}, "`task_queue` where it starts, or the `id`"),
        ({"workflows": {"a": {"signal": "s", "id": "{x}"}}}, "begins with a text of its own"),
        ({"workflows": {"a": {**ACTIVITY, "signal": "s"}}}, "or sends it a `signal`"),
        ({"workflows": {"a": {"id": "x", "type": "T"}}}, "of a workflow to start"),
        ({"workflows": {"a": {"id": "x", "arguments": []}}}, "sends nothing"),
        ({"nexus": {"a": {"endpoint": "e"}}}, "service"),
        ({"nexus": {"a": {"endpoint": "e", "service": "s", "arguments": [1, 2]}}}, "one of"),
        (
            {"activities": {"a": ACTIVITY}, "workflows": {"a": {"id": "x"}}},
            "different names, and two are `a`",
        ),
    ],
)
def test_a_section_of_a_worker_is_refused_with_what_is_allowed(
    worker: dict[str, Any], message: str
) -> None:
    assert message in problems(worker)


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ({"t": {"activity": "b"}}, "E204"),
        ({"t": {"workflow": "a"}}, "E204"),
        ({"t": {"activity": "a", "retries": 2}}, "never retried"),
        ({"t": {"activity": "a", "cache": "run"}}, "they have an effect"),
        ({"t": {"activity": "a", "local_activity": True}}, "local_activity"),
        ({"t": {"activity": "a", "fixed": {"z": 1}}}, "z"),
        ({"t": {"activity": "a", "nexus": "a"}}, "made of several things"),
    ],
)
def test_a_tool_of_a_document_is_refused_with_what_is_allowed(
    tools: dict[str, Any], message: str
) -> None:
    section = {**ACTIVITY, "input_schema": {"x": {"type": "string"}}}
    found = problems({"activities": {"a": section}}, tools)
    assert found
    assert message in found


def test_a_tool_takes_the_terms_of_the_worker_and_its_own() -> None:
    plan = plan_calling(
        [{"name": "call", "tool": "sum", "arguments": {"left": 1, "right": 2}}],
        tools={"sum": {"activity": "sum", "timeout": "20m", "retries": 5, "cache": "run"}},
    )
    tool = plan.tools["sum"]
    assert isinstance(tool, ActivityTool)
    assert (tool.terms.timeout, tool.terms.retries, tool.effect) == (1200, 5, "read")
    assert tool.labels == ("untrusted", "egress")
    assert isinstance(tool.target, ActivityTarget)
    assert (tool.target.type, tool.target.task_queue) == ("add", "theirs")


@pytest.mark.parametrize(
    ("name", "effect", "retries"),
    [
        ("charge", "once", 0),
        ("sum", "read", 2),
        ("fulfil", "once", 0),
        ("order", "idempotent", 0),
        ("pay", "idempotent", 2),
        ("outcome", "read", 2),
        ("quote", "read", 0),
    ],
)
def test_the_effect_and_the_attempts_follow_from_what_is_called(
    name: str, effect: str, retries: int
) -> None:
    contract = contract_on_temporal(name, on_temporal()[name])
    assert (contract.effect, contract.retries) == (effect, retries)


def test_the_plan_of_a_tool_survives_its_journey() -> None:
    plan = plan_calling([{"name": "call", "tool": "begin", "arguments": {"order": "1"}}])
    again = type(plan).model_validate_json(plan.model_dump_json(exclude_defaults=True))
    assert again.tools == plan.tools
    assert isinstance(again.tools["begin"], WorkflowTool)


def test_arguments_stand_where_the_worker_says() -> None:
    target = contract_on_temporal("sum", on_temporal()["sum"]).target
    assert arguments_of(target, {"left": 1, "right": 2}) == (1, 2)
    whole = contract_on_temporal("charge", on_temporal()["charge"]).target
    assert arguments_of(whole, {"amount": 1}) == ({"amount": 1},)


@pytest.mark.parametrize(
    "value", [None, "", True, 1.5, ["x"], {"x": 1}, "x\ny", "x\u2028y", "x" * 400]
)
def test_an_id_takes_no_value_that_is_no_part_of_one(value: Any) -> None:
    with pytest.raises(InputRefused):
        workflow_id("order-{order}", {"order": value})


def test_an_id_takes_a_text_or_a_number() -> None:
    assert workflow_id("order-{order}/{part}", {"order": "7", "part": 2}) == "order-7/2"


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"\x01", b"binary/encrypted", "binary/encrypted"),
        (b"x", b"binary/plain", "binary/plain"),
        (b"{", b"json/plain", "no JSON"),
        (b'{"a":1,"a":2}', b"json/plain", "no JSON"),
        (b"[" * 100_000, b"json/plain", "no JSON"),
        (b'"' + b"x" * 1_000_001 + b'"', b"json/plain", "1,000,003 bytes"),
        (b"1", b"json/plain", "does not match its schema"),
    ],
)
def test_a_value_of_others_that_a_run_cannot_take_is_refused_by_name(
    data: bytes, encoding: bytes, message: str
) -> None:
    with pytest.raises(UnusableValue) as error:
        foreign_value(data, encoding, {"type": "string"})
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("data", "encoding", "value"),
    [
        (None, b"", None),
        (b"", b"binary/null", None),
        (b'{"a": 1}', b"json/plain", {"a": 1}),
        (b'{"a": "1"}', b"json/protobuf", {"a": "1"}),
    ],
)
def test_a_value_of_others_is_read(data: bytes | None, encoding: bytes, value: Any) -> None:
    assert foreign_value(data, encoding, {}) == value


def test_the_own_activities_are_those_of_the_contracts() -> None:
    names = ("CHECK_TARGETS", "COMPILE_TEAM", "FORK_RUN", "NOTIFY", "RUN_AGENT")
    own = {getattr(contracts, name) for name in names}
    called = next(value for name, value in vars(contracts).items() if name.startswith("CALL_"))
    assert own | {called} <= set(OWN_ACTIVITIES)
