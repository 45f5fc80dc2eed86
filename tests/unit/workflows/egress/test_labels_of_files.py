"""A run tells its worker that it may repeat text of others, and meets what a file brings."""

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
    InnerCall,
    Spent,
)
from coterie.dsl.model.capabilities import KeptLabel
from coterie.dsl.values import Json
from coterie.workflows.core.scope import CallFailed
from tests.support.simulation.egress_runs import ANY, LABELLED, ran
from tests.support.tool_agents import MODEL, answer, calls, function_tool, persona, tool_plan

WRITE: tuple[str, Json] = ("write", {"path": "a.md"})
UNTRUSTED: tuple[KeptLabel, ...] = ("untrusted",)
PAGE: tuple[str, Json] = ("page", {"url": "https://a.example"})
FILES: tuple[str, Json] = ("files", {"path": "a.md"})
KNOWN: dict[str, Json] = {
    **LABELLED,
    "write": function_tool(
        "Files.write", input_schema=ANY, terms={"effect": "idempotent", "timeout": 9, "retries": 0}
    ),
}


@pytest.mark.parametrize("before", [PAGE, FILES])
@pytest.mark.parametrize("keeps", [True, False])
async def test_a_write_says_whether_the_run_has_met_text_of_others(
    before: tuple[str, Json], keeps: bool
) -> None:
    terms: Json | None = {} if keeps else None
    plan = tool_plan(KNOWN, {"actor": persona(*KNOWN)}, egress_approval=terms)

    def model(_: AgentRequest, number: int) -> AgentResponse:
        return [calls(before), calls(WRITE), answer("done")][number - 1]

    one = await ran(plan, model)
    told = {request.skill: request.untrusted for request in one.world.made}
    assert not told.pop("Web.page" if before == PAGE else "Files.read")
    assert told == {"Files.write": before == PAGE}


@pytest.mark.parametrize(("labels", "asked"), [((), 0), (UNTRUSTED, 1)])
async def test_a_run_meets_what_a_file_brings_and_asks_before_it_sends(
    labels: tuple[KeptLabel, ...], asked: int
) -> None:
    plan = tool_plan(KNOWN, {"actor": persona(*KNOWN)}, egress_approval={})
    turns = [calls(FILES), calls(("send", {"text": "salaries"})), answer("done")]

    def found(request: FunctionRequest) -> FunctionResult:
        return FunctionResult(labels=labels if request.skill == "Files.read" else ())

    one = await ran(plan, lambda _, number: turns[number - 1], function=found)
    assert len(one.asked) == asked
    assert len(one.sent) == 1 - asked


async def test_what_a_file_brings_passes_on_through_a_run_that_sends_nothing() -> None:
    """Such a run keeps no labels, but what it writes does."""
    plan = tool_plan(KNOWN, {"actor": persona(*KNOWN)})
    turns = [calls(FILES), calls(WRITE), answer("done")]

    def found(request: FunctionRequest) -> FunctionResult:
        return FunctionResult(labels=UNTRUSTED if request.skill == "Files.read" else ())

    one = await ran(plan, lambda _, number: turns[number - 1], function=found)
    assert [request.untrusted for request in one.world.made] == [False, True]
    assert one.state.labels.met == []


async def test_a_failed_call_brings_what_a_file_has() -> None:
    plan = tool_plan(KNOWN, {"actor": persona(*KNOWN)}, egress_approval={})
    turns = [calls(FILES), calls(WRITE), answer("done")]
    read = InnerCall(skill="Files.read", effect="read", labels=("untrusted",))

    def found(request: FunctionRequest) -> FunctionResult:
        if request.skill == "Files.read":
            raise CallFailed("FunctionFailed", "on purpose", Spent(inner_calls=(read,)))
        return FunctionResult()

    one = await ran(plan, lambda _, number: turns[number - 1], function=found)
    assert [request.untrusted for request in one.world.made] == [False, True]


@pytest.mark.parametrize("agent_type", ["package.module:own", "generic_single_shot"])
@pytest.mark.parametrize("before", ["page", "files"])
async def test_an_agent_with_its_own_code_learns_what_the_run_has_met(
    agent_type: str, before: str
) -> None:
    act: Json = {"name": "act", "agent_type": agent_type, "persona_key": "own", "input": "it"}
    first: Json = {"kind": "tool", "name": "first", "tool": before, "arguments": {}}
    own: Json = {**MODEL, "prompts": {"user": "{{ input }}"}}
    team: Json = {"id": "work", "steps": [first, act]}
    plan = tool_plan(KNOWN, {"own": own}, teams={"work": team})
    told: list[bool] = []

    def model(request: AgentRequest, _: int) -> AgentResponse:
        told.append(request.untrusted)
        return answer("done")

    await ran(plan, model)
    assert told == [before == "page" and agent_type != "generic_single_shot"]
