"""Equal calls of a tool with `cache: run` that are in progress at once become one call."""

import asyncio
from collections.abc import Awaitable, Callable

from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.runs.in_process.local_scope import LocalScope
from coterie.workflows.core.state import RunState
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import answer, calls, function_tool, persona, tool_plan

WRITE: Json = {"effect": "idempotent", "timeout": 60, "retries": 0}
TOOLS: dict[str, Json] = {
    "search": function_tool(input_schema={"type": "object"}, cache="run"),
    "save": {"skill": "Files.write", "terms": WRITE, "input_schema": {"type": "object"}},
}
RAIN: tuple[str, Json] = ("search", {"query": "rain"})
ToolFunction = Callable[[FunctionRequest, int], Awaitable[JsonValue]]


class TurnWorld:
    """A model that asks for these calls, turn by turn, and a tool function that may wait."""

    def __init__(self, function: ToolFunction, *turns: tuple[tuple[str, Json], ...]) -> None:
        self.made: list[str] = []
        self.results: list[list[str]] = []
        self._function = function
        self._turns = turns

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        assert request.tool_turn is not None
        if request.tool_turn.results:
            self.results.append([result.text for result in request.tool_turn.results])
        done = len(self.results)
        asked = calls(*self._turns[done]) if done < len(self._turns) else answer("done")
        return asked.model_copy(update={"conversation": f"turn {done}"})

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        self.made.append(request.key.rpartition("/")[2])
        return FunctionResult(data=await self._function(request, len(self.made)))


async def others() -> None:
    """Let all other tasks reach their waits."""
    for _ in range(200):
        await asyncio.sleep(0)


async def slow(request: FunctionRequest, number: int) -> JsonValue:
    await others()
    return {"call": number}


async def ran(world: TurnWorld, plan: Plan | None = None) -> RunState:
    of = plan or tool_plan(TOOLS, {"actor": persona(*TOOLS)})
    state = fresh(of, {})
    await run(LocalScope(of, state, world))
    assert state.reads_in_progress == {}
    return state


def hits(state: RunState) -> list[str | None]:
    return [one.step for one in state.trail if one.event == "cache_hit"]


async def test_equal_calls_of_a_turn_are_one_call() -> None:
    world = TurnWorld(slow, (RAIN, RAIN, RAIN))
    state = await ran(world)
    assert world.made == ["search@1.1#1"]
    assert world.results == [['{"call":1}'] * 3]
    assert hits(state) == ["act/search@1.2", "act/search@1.3"]
    assert state.function_calls == 1


async def test_arguments_are_equal_whatever_the_order_of_their_keys() -> None:
    world = TurnWorld(
        slow,
        (("search", {"a": 1, "b": 2}), ("search", {"b": 2, "a": 1}), ("search", {"a": 2, "b": 1})),
    )
    await ran(world)
    assert world.made == ["search@1.1#1", "search@1.3#1"]


async def test_a_result_that_is_too_large_to_keep_is_shared_all_the_same() -> None:
    async def large(request: FunctionRequest, number: int) -> JsonValue:
        await others()
        return f"{number}" * 5_000

    world = TurnWorld(large, (RAIN, RAIN), (RAIN,))
    await ran(world)
    assert world.made == ["search@1.1#1", "search@2.1#1"]
    assert world.results == [["1" * 5_000] * 2, ["2" * 5_000]]


async def test_after_a_failure_the_next_equal_call_is_made_and_shared() -> None:
    async def fails_once(request: FunctionRequest, number: int) -> JsonValue:
        await others()
        if number == 1:
            raise ApplicationError("the archive is closed", type="FunctionFailed")
        return "open"

    world = TurnWorld(fails_once, (RAIN, RAIN, RAIN))
    state = await ran(world)
    assert world.made == ["search@1.1#1", "search@1.2#1"]
    assert world.results == [["FunctionFailed: the archive is closed", "open", "open"]]
    assert hits(state) == ["act/search@1.3"]


async def slow_search(request: FunctionRequest, number: int) -> JsonValue:
    if request.skill == "Discovery.collect":
        await others()
    return number


async def test_what_is_read_during_an_effect_is_not_kept() -> None:
    world = TurnWorld(slow_search, (RAIN, ("save", {})), (RAIN,))
    await ran(world)
    assert world.made == ["search@1.1#1", "save@1.2#1", "search@2.1#1"]


def tool_step(tool: str) -> Json:
    return {"name": tool, "kind": "tool", "tool": tool, "arguments": {"query": "x"}}


def both(one: list[JsonValue], two: list[JsonValue], join: str = "all") -> Json:
    branches: Json = {"one": one, "two": two}
    return {"name": f"{join}_of_both", "kind": "parallel", "branches": branches, "join": join}


async def test_a_call_after_an_effect_does_not_wait_for_one_from_before() -> None:
    search, save = tool_step("search"), tool_step("save")
    plan = tool_plan(TOOLS, {"actor": persona(*TOOLS)}, tasks=[both([search], [save, search])])
    world = TurnWorld(slow_search)
    state = await ran(world, plan)
    assert len(world.made) == 3
    assert hits(state) == []


async def test_a_call_that_is_left_does_not_keep_others_waiting() -> None:
    async def never(request: FunctionRequest, number: int) -> JsonValue:
        if "any_of_both/one/search" in request.key:
            await asyncio.Event().wait()
        await others()
        if request.skill == "Clock.later":
            await others()
        return number

    tools: dict[str, Json] = {
        **TOOLS,
        "clock": function_tool("Clock.now"),
        "later": function_tool("Clock.later"),
    }
    search = tool_step("search")
    left = both([search], [tool_step("later")], join="any")
    after: list[JsonValue] = [tool_step("clock"), search]
    plan = tool_plan(tools, {"actor": persona(*TOOLS)}, tasks=[both([left], after)])
    world = TurnWorld(never)
    state = await ran(world, plan)
    assert sorted(world.made) == ["clock#1", "later#1", "search#1", "search#1"]
    assert hits(state) == []
