"""Tools that a model finds by search: each call counts as if the model had made it directly."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse, FunctionRequest
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.tools.tool_use import CALL_FOUND, TOOL_SEARCH
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.causes.agent_causes import ModelTurned, ToolsSearched
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import carried, fresh
from tests.support.tool_agents import (
    MODEL,
    QUERY,
    ModelScope,
    ModelWorld,
    answer,
    calls,
    function_tool,
    persona,
    tool_plan,
)

SENDS: Json = {"labels": ["egress"]}
READS: Json = {"labels": ["private", "untrusted"]}
ONCE: Json = {"terms": {"effect": "once", "timeout": 60, "retries": 0}}
HELPER: Json = {**MODEL, "prompts": {"user": "Help with {{ input.query }}."}}
Asked = tuple[tuple[str, Json], ...]


def hook(decide: str, **more: JsonValue) -> Json:
    condition: Json = {"expression": "{{ tool == 'search' }}"}
    return {"name": decide, "on": "before_tool_call", "decide": decide, "when": condition, **more}


ALL = ("search", "send", "read", "clock", "helper")


def plan(*deferred: str, terms: Mapping[str, Any] | None = None) -> Plan:
    """A plan whose agent finds these tools by search.

    Args:
        deferred: The tools.
        terms: `tool` of the tool `search`, `of_persona`, and others of the plan.
    """
    more = dict(terms or {})
    search: Json = more.pop("tool", {})
    of_persona: Json = more.pop("of_persona", {})
    tools: dict[str, Json] = {
        "search": {**function_tool(input_schema=QUERY, description="Finds pages."), **search},
        "send": function_tool("Mail.send", input_schema=QUERY, **SENDS),
        "read": function_tool("Mail.read", input_schema=QUERY, **READS),
        "clock": function_tool("Clock.now", input_schema={"type": "object"}),
        "secret": function_tool("Vault.read", input_schema=QUERY, description="Reads secrets."),
        "helper": {"agent": "helper", "input_schema": QUERY, "stateful": True},
    }
    actor: Json = {**persona(*ALL), **of_persona, "deferred_tools": [*deferred]}
    return tool_plan(tools, {"actor": actor, "helper": HELPER}, **more)


def world_of(*turns: Asked) -> ModelWorld:
    """A world whose model makes these calls, turn after turn, and then answers."""

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if request.task == "helper":
            return answer("helped")
        return calls(*turns[number - 1]) if number <= len(turns) else answer("done")

    def function(request: FunctionRequest) -> JsonValue:
        given = request.input
        if isinstance(given, dict) and given.get("query") == "broken":
            return {"fails": "FunctionFailed", "message": "on purpose"}
        return {"of": request.skill, "input": given}

    return ModelWorld(model, function)


async def ran(of: Plan, *turns: Asked) -> tuple[ModelWorld, RunState]:
    """Run the agent from beginning to end."""
    world, state = world_of(*turns), fresh(of, {})
    with suppress(RunFailed):
        await run(ModelScope(of, state, world, None))
    return world, state


async def stopped_everywhere(of: Plan, *turns: Asked) -> tuple[ModelWorld, RunState]:
    """Run it, continued as new at every second checkpoint."""
    world, state = world_of(*turns), fresh(of, {})
    for _ in range(100):
        try:
            await run(ModelScope(of, state, world, 1))
            return world, state
        except Interrupted:
            state = carried(state)
    raise AssertionError("the run never ended")


def found(tool: str, arguments: JsonValue) -> tuple[str, Json]:
    return CALL_FOUND, {"name": tool, "arguments": arguments}


def through_search(asked: Asked) -> Asked:
    return tuple(found(tool, arguments) for tool, arguments in asked)


def facts(state: RunState) -> list[object]:
    """Return the trail."""
    return [(one.kind, one.step, one.status, one.because, one.seconds) for one in state.trail]


def results(world: ModelWorld) -> list[tuple[ToolResult, ...]]:
    turns = [request.tool_turn for request in world.requests]
    return [turn.results for turn in turns if turn is not None]


RAIN: Json = {"query": "rain"}
POLICY: Json = {"tool": "search", "max_calls": 1}
CASES: dict[str, tuple[dict[str, Any], list[Asked]]] = {
    "a call": ({}, [(("search", RAIN),)]),
    "a call that fails": ({}, [(("search", {"query": "broken"}),)]),
    "an approval": ({"tool": {"requires_approval": True}}, [(("search", RAIN),)]),
    "an approval after": ({"tool": {"requires_approval": {"at": "after"}}}, [(("search", RAIN),)]),
    "what may happen once": ({"tool": ONCE}, [(("search", RAIN), ("search", RAIN))]),
    "cached reads": ({"tool": {"cache": "run"}}, [(("search", RAIN),), (("search", RAIN),)]),
    "labels that meet": ({"egress_approval": {}}, [(("read", RAIN),), (("send", RAIN),)]),
    "a budget": (
        {"budgets": [{"kind": "tool_calls", "limit": 1, "scope": "run"}]},
        [(("search", RAIN),), (("clock", {}),)],
    ),
    "the most calls": (
        {"of_persona": {"tool_policy": [POLICY]}},
        [(("search", RAIN), ("search", {"query": "x"}))],
    ),
    "a hook that rejects": (
        {"of_persona": {"hooks": [hook("reject")]}},
        [(("search", RAIN), ("clock", {}))],
    ),
    "a hook that fails": (
        {"of_persona": {"hooks": [hook("fail")]}},
        [(("search", RAIN), ("clock", {}))],
    ),
    "equal calls": ({}, [(("clock", {}),)] * 6),
    "one after another": (
        {"of_persona": {"parallel_tool_calls": False}},
        [(("clock", {}), ("search", RAIN))],
    ),
    "an agent with a memory": ({}, [(("helper", RAIN), ("helper", RAIN))]),
    "arguments that do not match": ({}, [(("search", {"query": 3}),)]),
    "a tool that another persona has": ({}, [(("secret", RAIN),)]),
    "the last turn": ({"of_persona": {"max_turns": 1}}, [(("clock", {}),), (("clock", {}),)]),
    "an exit": (
        {"of_persona": {"tool_policy": [{"tool": "clock", "exit_on_success": True}]}},
        [(("clock", {}),)],
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_found_tool_is_called_as_if_it_had_been_called_directly(case: str) -> None:
    terms, turns = CASES[case]
    of = plan(*ALL, terms=terms)
    direct, direct_state = await ran(of, *turns)
    carried_by, state = await ran(of, *map(through_search, turns))
    assert facts(state) == facts(direct_state)
    assert carried_by.made == direct.made
    assert carried_by.calls == direct.calls
    assert results(carried_by) == results(direct)
    assert not any(CALL_FOUND in (entry.step or "") for entry in state.trail)


async def test_the_table_has_a_case_for_each_kind_of_end() -> None:
    """Otherwise an equal pair could be two runs in which nothing happens."""
    ends: dict[str, set[str]] = {}
    for name, (terms, turns) in CASES.items():
        of = plan(*ALL, terms=terms)
        _, state = await ran(of, *turns)
        ends[name] = {str(entry.status) for entry in state.trail}
    assert "approved" in ends["an approval"]
    assert "approved" in ends["labels that meet"]
    assert (
        "refused" in ends["arguments that do not match"] & ends["a tool that another persona has"]
    )
    assert "refused" in ends["the most calls"]
    assert "cache_hit" in str(ends) or "cached" in ends["cached reads"]
    assert "hook" in ends["a hook that rejects"]
    assert "exited" in ends["an exit"]


CLOCK: tuple[str, Json] = ("clock", {})
EMPTY: Json = {}
SEARCH: tuple[str, Json] = (TOOL_SEARCH, {"query": "find pages"})


async def test_a_search_is_answered_at_no_call_and_its_result_reaches_the_model() -> None:
    world, state = await ran(plan("search", "clock"), (SEARCH, CLOCK), (found("search", RAIN),))
    assert [request.skill for request in world.made] == ["Clock.now", "Discovery.collect"]
    [first, clock] = results(world)[1]
    assert first.text.startswith('Call one of these by call_found:\n{"name":"search"')
    assert '"input_schema":{"type":"object","properties":{"query"' in first.text
    assert not clock.failed
    [searched] = [entry for entry in state.trail if isinstance(entry.cause, ToolsSearched)]
    assert (searched.step, searched.status) == ("act/tool_search@1.1", "success")
    assert searched.because == "searched for 'find pages' and found search"
    turns = [entry.cause for entry in state.trail if isinstance(entry.cause, ModelTurned)]
    assert [turn.calls for turn in turns] == [(TOOL_SEARCH, "clock"), ("search",), ()]


async def test_the_tools_of_a_conversation_never_change() -> None:
    """What was found stands in results: a provider's cache keeps the prefix."""
    world, _ = await ran(plan("search", "clock"), (SEARCH,), (found("search", RAIN),))
    turns = [request.tool_turn for request in world.requests]
    offered = [[tool.name for tool in turn.offered] for turn in turns if turn is not None]
    assert offered == [["send", "read", "helper", TOOL_SEARCH, CALL_FOUND], [], []]
    assert world.requests[0].persona is not None
    assert world.requests[0].persona.deferred_tools == ()


async def test_a_search_survives_where_the_run_continues_as_new() -> None:
    turns: list[Asked] = [(SEARCH, CLOCK), (SEARCH,), (found("search", RAIN),)]
    whole, before = await ran(plan("search", "clock"), *turns)
    parts, after = await stopped_everywhere(plan("search", "clock"), *turns)
    assert after.trail_digest == before.trail_digest
    assert len(parts.calls) == len(set(parts.calls)) == len(whole.calls)
    assert results(parts) == results(whole)


async def test_an_equal_search_is_reminded_of_and_then_refused() -> None:
    world, _ = await ran(plan("search", "clock"), *[(SEARCH,)] * 5)
    assert "Do something else" in world.requests[3].notices[0]
    assert results(world)[5][0].failed


async def test_a_turn_has_a_bounded_number_of_searches_whose_results_are_bounded() -> None:
    asked: Asked = tuple((TOOL_SEARCH, {"query": f"find {n}"}) for n in range(12))
    of = plan("search", terms={"tool": {"description": "find " * 10_000}})
    world, _ = await ran(of, asked)
    given = results(world)[1]
    assert [result.failed for result in given] == [False] * 10 + [True] * 2
    assert given[10].text == "one turn may search 10 times; search again in the next turn"
    assert max(len(result.text) for result in given) < 2_000


async def test_a_search_does_not_count_as_the_call_that_is_required() -> None:
    of = plan("search", "clock", terms={"of_persona": {"tool_choice": "required"}})
    world, _ = await ran(of, (SEARCH,), (found("clock", {}),))
    choices = [request.tool_turn.choice for request in world.requests if request.tool_turn]
    assert choices == ["required", "required", "auto"]


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (
            found("serch", RAIN),
            "there is no tool 'serch'; tools: clock, helper, read, search, send",
        ),
        (found("secret", RAIN), "there is no tool 'secret'; tools: clock, helper, read, send"),
        (found("", RAIN), "the arguments of 'call_found' are invalid: `name` must be the name"),
        (
            found(CALL_FOUND, RAIN),
            "the arguments of 'call_found' are invalid: `name` must be another",
        ),
        ((CALL_FOUND, EMPTY), "the arguments of 'call_found' are invalid: `name` must be the name"),
        (found("search", [1]), "the arguments of 'search' are invalid: `arguments` are a list"),
        (found("search", "rain"), "the arguments of 'search' are invalid: `arguments` are a text"),
        (
            found("search", None),
            "the arguments of 'search' are invalid: arguments lacks the key",
        ),
        (
            (TOOL_SEARCH, EMPTY),
            "the arguments of 'tool_search' are invalid: arguments lacks the key",
        ),
        ((TOOL_SEARCH, {"query": 1}), "the arguments of 'tool_search' are invalid"),
    ],
)
async def test_a_call_that_nobody_can_make_is_corrected(asked: tuple[str, Json], text: str) -> None:
    world, _ = await ran(plan("search"), (asked,))
    [result] = results(world)[1]
    assert (result.failed, result.text[: len(text)]) == (True, text)
    assert world.made == []


async def test_arguments_may_be_a_text_of_json() -> None:
    world, _ = await ran(plan("search"), (found("search", '{"query": "rain"}'),))
    assert [request.input for request in world.made] == [RAIN]


async def test_without_deferred_tools_nothing_is_searched() -> None:
    world, _ = await ran(plan(), (SEARCH, found("search", RAIN)))
    search, call = results(world)[1]
    assert search.text.startswith("there is no tool 'tool_search'")
    assert not call.failed, "a call under its real name is harmless"
