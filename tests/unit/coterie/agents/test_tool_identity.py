"""Functions and classes of one qualified name never become one tool, or one agent."""

from collections.abc import Callable
from pathlib import Path

import pytest

from coterie.agents import BaseAgent, InvalidTool, ToolRegistry, ToolSchema, orchestrator, subagent
from coterie.agents.tool_definitions import AnyTool
from coterie.dsl.values import Json
from tests.support.programs.python_agents import PlainAgent, around, asks, ran, says, unnamed

SCHEMA: Json = {"n": {"type": "integer"}}


@orchestrator
class ChiefAgent(BaseAgent):
    system_message = "You lead."


def times(factor: int) -> Callable[[int], int]:
    def multiplied(n: int) -> int:
        return factor * n

    return multiplied


def unnamed_times(factor: int) -> Callable[[int], int]:
    return unnamed(lambda n: factor * n)


def with_helper(*tools: AnyTool, own: tuple[AnyTool, ...] = ()) -> BaseAgent:
    """An agent with a subagent, an instance of a class that this function makes each time."""
    kind = subagent("helper", "Helps.")(type("Helper", (PlainAgent,), {}))
    chief = ChiefAgent(agent_id="chief", tools=own)
    chief.register_agent(kind("Help.", agent_id="helper", tools=tools))
    return chief


@pytest.mark.parametrize("make", [times, unnamed_times])
async def test_functions_of_one_qualified_name_stay_apart(
    tmp_path: Path, make: Callable[[int], Callable[[int], int]]
) -> None:
    """Within an agent, and between it and its subagent."""
    double, triple, fivefold = (
        ToolSchema(name, make(factor), input_schema=SCHEMA)
        for name, factor in (("double", 2), ("triple", 3), ("fivefold", 5))
    )
    state = await ran(
        with_helper(fivefold, own=(double, triple)),
        tmp_path,
        asks("chief", 1, ("double", {"n": 5}), ("triple", {"n": 5}), ("helper", {"query": "5"})),
        asks("helper", 1, ("fivefold", {"n": 5})),
        says("helper", "so", turn=2, contains="25"),
        says("chief", "ok", turn=2),
    )
    found = {call.tool: call.result for call in state.tool_history}
    assert (found["double"], found["triple"], state.text) == ("10", "15", "ok")


@pytest.mark.parametrize(
    "agent", [PlainAgent(tools=[times(2), times(3)]), with_helper(times(3), own=(times(2),))]
)
def test_two_functions_of_one_name_are_refused(tmp_path: Path, agent: BaseAgent) -> None:
    with pytest.raises(InvalidTool, match="two different tools are called 'multiplied'"):
        agent.run_sync("?", context=around(tmp_path))


def test_a_second_function_is_not_registered_under_the_name_of_the_first() -> None:
    registry, first = ToolRegistry(), times(2)
    registry.register(first)
    registry.register(first)
    with pytest.raises(InvalidTool, match="another tool is already registered as 'multiplied'"):
        registry.register(times(3))
    assert [one.executor for one in registry] == [first]


def test_two_classes_of_one_name_are_no_one_agent(tmp_path: Path) -> None:
    chief = ChiefAgent(agent_id="chief")
    for name, message in (("first", "Help."), ("second", "Hinder.")):
        kind = subagent(name, "Helps.")(type("Helper", (PlainAgent,), {}))
        chief.register_agent(kind(message))
    with pytest.raises(InvalidTool, match="two different agents are called 'helper'"):
        chief.run_sync("?", context=around(tmp_path))
