"""Agents and teams as tools of a step: their attempts, their budgets, their nesting."""

from typing import Any

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse, FunctionRequest
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import CallFailed
from coterie.workflows.interpreter import run
from tests.support.simulation.egress_runs import Ran, ran
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import MODEL, ModelScope, ModelWorld, answer, tool_plan, unusable

ANY: Json = {"type": "object"}
CALLS: list[JsonValue] = [{"kind": "tool_calls", "limit": 100}]
WRITER: Json = {**MODEL, "prompts": {"user": "Write."}, "max_reasks": 0}


def ask(name: str = "ask", **more: JsonValue) -> Json:
    return {"kind": "tool", "name": name, "tool": "helper", "arguments": {}, **more}


def plan(*steps: JsonValue, persona: Json = WRITER, tool: Json | None = None, **more: Any) -> Plan:
    helper: Json = {"agent": "writer", "input_schema": ANY, **(tool or {})}
    teams: dict[str, Json] = {"work": {"id": "work", "steps": list(steps)}, **more.pop("teams", {})}
    return tool_plan({"helper": helper}, {"writer": persona}, teams=teams, **more)


def again(step: Json, times: int = 2) -> Json:
    return {
        "kind": "loop",
        "name": "each",
        "iterate_on": list(range(times)),
        "loop_variable": "n",
        "body": [{**step, "on_failure": "continue"}],
    }


def failing(_: AgentRequest, __: int) -> AgentResponse:
    return unusable("no")


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("budgets", [[], CALLS], ids=["no budget", "budget"])
async def test_each_call_has_its_own_retries_and_is_counted_once(
    everywhere: bool, budgets: list[JsonValue]
) -> None:
    of = plan(again(ask()), tool={"on_error": "retry", "retries": 2}, budgets=budgets)
    one = await ran(of, failing, everywhere=everywhere)
    assert len(one.world.requests) == 6
    assert sum(entry.status == "retried" for entry in one.state.trail) == 4
    assert [balance.used for balance in one.state.balances.values()] == [2] * len(budgets)
    progress = one.state.progress
    assert progress.tool_retries == progress.attempts == {}


async def test_a_call_that_a_new_history_interrupts_is_counted_once() -> None:
    fail: Json = {"kind": "fail", "name": "no", "error": "Broken", "message": "no"}
    steps: list[JsonValue] = [
        {"kind": "set", "name": "a", "values": {"n": 1}},
        {"kind": "set", "name": "b", "values": {"n": 1}},
        fail,
    ]
    persona: Json = {**MODEL, "execution_plan": steps}
    tool: Json = {"on_error": "retry", "retries": 1}
    of = plan(again(ask()), persona=persona, tool=tool, budgets=CALLS)
    for everywhere in (False, True):
        one = await ran(of, failing, everywhere=everywhere)
        assert [balance.used for balance in one.state.balances.values()] == [2]
        assert sum(entry.status == "retried" for entry in one.state.trail) == 2


async def test_a_failure_that_would_recur_is_not_retried() -> None:
    def refused(_: AgentRequest, __: int) -> AgentResponse:
        raise CallFailed("TemplateFailed", "on purpose")

    of = plan(ask(), tool={"on_error": "retry", "retries": 2})
    world = ModelWorld(refused, lambda _: None)
    state = fresh(of, {})
    with pytest.raises(RunFailed):
        await run(ModelScope(of, state, world, None))
    assert len(world.requests) == 1
    assert [entry for entry in state.trail if entry.status == "retried"] == []


async def test_agents_that_call_themselves_as_steps_end_at_a_depth() -> None:
    persona: Json = {**MODEL, "execution_plan": [ask("inner")]}
    one = await ran(plan(ask(), persona=persona), failing)
    assert one.result.error is not None
    assert "may be nested 20 deep" in one.result.error.message
    assert [entry.step for entry in one.state.trail if entry.status == "failure"] == [
        "/".join(["ask", *["inner"] * depth]) for depth in range(20, -1, -1)
    ]


async def test_a_tool_of_a_server_is_called_as_it_was_listed() -> None:
    made: list[FunctionRequest] = []

    def found(request: FunctionRequest) -> JsonValue:
        made.append(request)
        return {}

    terms: Json = {"effect": "read", "timeout": 5, "retries": 0}
    tools: dict[str, Json] = {
        "listed": {"mcp": "server/find", "terms": terms, "input_schema": ANY, "listing": "abc"},
        "plain": {"skill": "Web.find", "terms": terms},
    }
    steps = [ask(name, tool=name) for name in tools]
    of = tool_plan(tools, {}, teams={"work": {"id": "work", "steps": list[JsonValue](steps)}})
    await ran(of, failing, function=found)
    assert [one.listing for one in made] == ["abc", None]


def team_calls(*inner: JsonValue, team: Json | None = None, **more: Any) -> Plan:
    step: Json = {"kind": "team", "name": "call", "team": "inner", **(team or {})}
    return plan(again(step), teams={"inner": {"id": "inner", "steps": list(inner)}}, **more)


def count(one: Ran, step: str) -> int:
    return sum(entry.step == step for entry in one.state.trail)


async def test_a_team_that_failed_begins_anew_with_the_next_call() -> None:
    first: Json = {"kind": "set", "name": "first", "values": {"n": 1}}
    last: Json = {"kind": "fail", "name": "last", "message": "no"}
    one = await ran(team_calls(first, last), lambda _, __: answer("done"))
    assert (count(one, "first"), count(one, "last")) == (2, 2)
    assert list(one.state.tracks) == list(fresh(team_calls(first), {}).tracks)
    assert one.state.frames == {}


async def test_a_team_is_not_called_with_an_input_that_its_context_cannot_have() -> None:
    first: Json = {"kind": "set", "name": "first", "values": {"n": 1}}
    declared: Json = {"n": {"schema": {"type": "integer"}, "default": 0}}
    of = team_calls(first, team={"input": {"n": "many"}}, context=declared)
    one = await ran(of, lambda _, __: answer("done"))
    assert count(one, "first") == 0
    causes = [entry.cause for entry in one.state.trail if entry.step == "each/call"]
    assert [cause.failure.type for cause in causes if isinstance(cause, Failed)] == [
        "InvalidContext"
    ] * 2


@pytest.mark.parametrize(("limit", "made"), [(None, 3), (5, 3), (1, 2), (0, 1)])
async def test_an_agent_as_a_tool_has_the_fewest_attempts_of_its_step_and_its_tool(
    limit: JsonValue, made: int
) -> None:
    of = plan(ask(call_retries=limit), tool={"on_error": "retry", "retries": 2})
    one = await ran(of, failing)
    assert len(one.world.requests) == made
