"""What bounds a nested agent: its turns, the hooks of the document, and what a run keeps."""

from collections.abc import Callable

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.model.plan import Plan
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.state import RunState
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import (
    QUERY,
    ModelScope,
    ModelWorld,
    answer,
    calls,
    function_tool,
    persona,
    tool_plan,
)
from tests.unit.workflows.tool_loops.test_tool_loop import found

ASK: tuple[str, Json] = ("helper", {"query": "rain"})
LOOK: tuple[str, Json] = ("look", {"query": "rain"})


def plan(inner: Json, *hooks: Json, **look: JsonValue) -> Plan:
    """A plan whose agent calls `helper`, an agent that may call `look`."""
    tools: dict[str, Json] = {
        "helper": {"agent": "writer", "input_schema": QUERY},
        "look": {**function_tool(input_schema=QUERY), **look},
    }
    actor = persona("helper", "look")
    asked: list[JsonValue] = [*hooks]
    return tool_plan(tools, {"actor": actor, "writer": inner}, hooks=asked)


async def ran(
    of: Plan, model: Callable[[AgentRequest, int], AgentResponse]
) -> tuple[ModelWorld, RunState]:
    world, state = ModelWorld(model, found), fresh(of, {})
    await run(
        ModelScope(of, state, world, None),
    )
    return world, state


def results(world: ModelWorld, task: str) -> list[ToolResult]:
    turns = [one.tool_turn for one in world.requests if one.task == task]
    return [result for turn in turns if turn is not None for result in turn.results]


async def test_an_agent_that_uses_up_its_turns_is_an_error_for_its_parent() -> None:
    policy: list[JsonValue] = [{"tool": "look", "min_calls": 1}]

    def model(request: AgentRequest, number: int) -> AgentResponse:
        return calls(ASK) if request.task == "act" and number == 1 else answer("done")

    world, _ = await ran(plan(persona("look", max_turns=1, tool_policy=policy)), model)
    (result,) = results(world, "act")
    assert result.failed
    assert result.text.startswith("ToolPolicyUnmet: agent 'helper' has used its 1 turn")


@pytest.mark.parametrize("decide", ["reject", "fail"])
async def test_a_hook_of_the_document_decides_about_the_calls_of_a_nested_agent(
    decide: str,
) -> None:
    hook: Json = {
        "name": "guard",
        "on": "before_tool_call",
        "decide": decide,
        "when": {"expression": "{{ tool == 'look' }}"},
    }

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if number > 1:
            return answer("done")
        return calls(ASK if request.task == "act" else LOOK)

    world, _ = await ran(plan(persona("look"), hook), model)
    assert world.made == [], "the tool function was not called"
    (of_parent,) = results(world, "act")
    assert of_parent.failed is (decide == "fail")
    if decide == "reject":
        (of_helper,) = results(world, "helper")
        assert of_helper.failed


async def test_a_run_keeps_the_results_of_its_latest_two_hundred_cached_calls() -> None:
    turns: list[list[tuple[str, Json]]] = [
        [("look", {"query": f"{turn}/{n}"}) for n in range(50)] for turn in range(5)
    ]
    turns.append([("look", {"query": "0/0"}), ("look", {"query": "4/0"})])

    def model(_: AgentRequest, number: int) -> AgentResponse:
        return calls(*turns[number - 1]) if number <= len(turns) else answer("done")

    world, state = await ran(plan(persona(), cache="run"), model)
    assert len(state.cached_results) == 200
    assert len(world.made) == 251, "0/0 was forgotten and is read again, 4/0 is not"
