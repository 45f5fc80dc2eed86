"""Code mode in one process: what the code's calls come to, and what the run makes of them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.model.plan import Plan
from coterie.dsl.tool_loop.tool_loop_terms import MAX_CALLS_OF_CODE, MAX_REFUSED_OF_CODE
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.scope import Call, CallFailed, Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import carried, fresh
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

ORDER: Json = {
    "type": "object",
    "properties": {"order": {"type": "integer"}, "amount": {"type": "number"}},
    "required": ["order"],
    "additionalProperties": False,
}
ONCE: Json = {"effect": "once", "timeout": 60, "retries": 0}
TOOLS: dict[str, Json] = {
    "code": function_tool("Python.run", description="Runs Python."),
    "search": function_tool(input_schema=QUERY, description="Finds orders."),
    "pay-back": {"skill": "Shop.pay", "terms": ONCE, "input_schema": ORDER},
}
Function = Callable[[FunctionRequest], JsonValue]


def found(request: FunctionRequest) -> JsonValue:
    """What the tools return."""
    return {"of": request.skill, "input": request.input}


class CodeScope(ModelScope):
    """Runs code in the real sandbox; all other functions are those of the test."""

    functions = FunctionActivities(Workspace(Path.cwd()), blobs=MemoryBlobs())

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        if request.skill != "Python.run":
            return await super().call_function(request, call)
        self.world.calls.append(call.id)
        try:
            return await self.functions.call_function(request)
        except ApplicationError as error:
            raise CallFailed(str(error.type), error.message) from error


def plan(tools: dict[str, Json] | None = None, **of_persona: JsonValue) -> Plan:
    """An agent whose code may call its tools."""
    of_tools = tools or TOOLS
    actor = persona(*of_tools, **{"code_mode": True, **of_persona})
    return tool_plan(of_tools, {"actor": actor})


def writes(code: str) -> Callable[[AgentRequest, int], AgentResponse]:
    """A model that writes code once, and then answers."""

    def model(request: AgentRequest, number: int) -> AgentResponse:
        return calls(("code", {"code": code})) if number == 1 else answer("done")

    return model


async def ran(
    code: str, of: Plan | None = None, function: Function = found
) -> tuple[TeamResult, ModelWorld, RunState]:
    """The run of an agent that writes code."""
    of = of or plan()
    world, state = ModelWorld(writes(code), function), fresh(of, {})
    return await run(CodeScope(of, state, world, None)), world, state


def result_of(world: ModelWorld, number: int = 0) -> str:
    """What the model reads of its code."""
    turn = world.requests[1].tool_turn
    assert turn is not None
    return turn.results[number].text


def value_of(world: ModelWorld) -> JsonValue:
    """The value of the code."""
    return json.loads(result_of(world))["value"]


async def test_code_calls_tools_as_activities_of_their_own() -> None:
    result, world, state = await ran(
        "a = await search(query='x')\nb = await pay_back(7, amount=2.5)\n[a['input'], b['input']]"
    )
    assert value_of(world) == [{"query": "x"}, {"order": 7, "amount": 2.5}]
    assert world.calls == [
        "0001.work.act.t1",
        "0002.work.code@1.1",
        "0003.work.search@1.1",
        "0004.work.code@1.1",
        "0005.work.pay-back@2.1",
        "0006.work.code@1.1",
        "0007.work.act.t2",
    ]
    assert [request.key.rpartition("/work/")[2] for request in world.made] == [
        "act/code@1.1/search@1.1#1",
        "act/code@1.1/pay-back@2.1#1",
    ]
    assert result.function_calls == 5
    assert state.progress.programs == {}


async def test_calls_that_are_gathered_are_made_at_once() -> None:
    _, world, _ = await ran(
        "r = await asyncio.gather(*[search(query=str(i)) for i in range(20)])\n"
        "[x['input']['query'] for x in r]"
    )
    assert value_of(world) == [str(i) for i in range(20)]
    assert [call for call in world.calls if "code" in call] == [
        "0002.work.code@1.1",
        "0023.work.code@1.1",
    ]


async def test_nothing_repeats_wherever_a_run_continues_as_new() -> None:
    code = (
        "out = []\nfor i in range(3):\n"
        "    out.append((await search(query=f'{i}{random.random()}'))['input'])\n"
        "out += await asyncio.gather(search(query='a'), pay_back(order=1))\nlen(str(out))"
    )
    whole, before, _ = await ran(code)
    world, state = ModelWorld(writes(code), found), fresh(plan(), {})
    for _ in range(100):
        try:
            parts = await run(CodeScope(plan(), state, world, 1))
            break
        except Interrupted:
            state = carried(state)
    else:
        raise AssertionError("the run never ended")
    assert parts.trail_digest == whole.trail_digest
    assert len(world.calls) == len(set(world.calls))
    assert len(world.made) == len(before.made) == 5
    assert [request.input for request in world.made] == [request.input for request in before.made]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("await search(query=3)", "TypeError: InvalidArguments: "),
        ("await search()", "TypeError: InvalidArguments: "),
        ("await search('a', 'b')", "TypeError: search() takes at most 1 positional arguments"),
        ("await search('a', query='b')", "TypeError: search() got several values for query"),
        ("await search(query=iter)", "TypeError: an argument is not JSON"),
        ("await nothing(query='a')", "NameError: name 'nothing' is not defined"),
        ("await code(code='1')", "NameError: name 'code' is not defined"),
        ("search(query='a')", "the value is a coroutine; await the call"),
        ("open('notes.txt')", "blocked input for Python.run"),
    ],
)
async def test_a_call_that_cannot_be_made_fails_in_the_code(code: str, why: str) -> None:
    _, world, _ = await ran(code)
    assert why in result_of(world)
    assert world.made == []


async def test_a_failure_of_a_tool_is_an_exception_that_code_may_catch() -> None:
    def function(request: FunctionRequest) -> JsonValue:
        return {"fails": "FunctionFailed", "message": "the shop is closed"}

    caught = "try:\n    await search(query='a')\nexcept RuntimeError as e:\n    x = str(e)\nx"
    _, world, _ = await ran(caught, function=function)
    assert value_of(world) == "FunctionFailed: the shop is closed"
    _, world, _ = await ran("await search(query='a')", function=function)
    assert "RuntimeError: FunctionFailed: the shop is closed" in result_of(world)


async def test_a_turn_has_a_bound_of_calls_by_code() -> None:
    code = (
        "made = 0\ntry:\n    while True:\n"
        "        await search(query=str(made))\n        made += 1\n"
        "except RuntimeError as e:\n    why = str(e)\n[made, why]"
    )
    _, world, _ = await ran(code)
    made, why = json.loads(result_of(world))["value"]
    assert made == len(world.made) == MAX_CALLS_OF_CODE
    assert f"{MAX_CALLS_OF_CODE}" in why


async def test_code_that_ends_without_await_says_which_calls_were_not_made() -> None:
    _, world, _ = await ran("search(query='a')\nsearch(query='b')\n1")
    printed = json.loads(result_of(world))["printed"]
    assert printed.startswith("[2 calls were not made, because the code ended without `await`")
    assert "search()" in printed
    assert world.made == []
    _, world, _ = await ran("search(query='a')\nawait pay_back(order=1)\n1")
    assert json.loads(result_of(world))["printed"] == ""
    assert len(world.made) == 2


@pytest.mark.parametrize(("query", "made"), [("3", 0), ("str(n)", MAX_CALLS_OF_CODE)])
async def test_code_that_goes_on_after_refusals_is_ended(query: str, made: int) -> None:
    code = (
        "n = 0\nwhile n < 400:\n    n += 1\n    try:\n"
        f"        await search(query={query})\n    except Exception:\n        pass\nn"
    )
    _, world, _ = await ran(code)
    assert f"more than {MAX_REFUSED_OF_CODE} calls by the code of this turn" in result_of(world)
    assert len(world.made) == made
    parts = [call for call in world.calls if "code" in call]
    assert len(parts) == made + MAX_REFUSED_OF_CODE + 1


async def test_a_policy_bounds_and_counts_calls_by_code() -> None:
    policy: Json = {"tool": "search", "max_calls": 2, "min_calls": 2}
    of = plan(tool_policy=[policy])
    code = (
        "out = await asyncio.gather(*[search(query=str(i)) for i in range(2)])\n"
        "try:\n    await search(query='z')\nexcept RuntimeError as e:\n    out = str(e)\nout"
    )
    result, world, _ = await ran(code, of)
    assert "may be called 2 times" in str(value_of(world))
    assert len(world.made) == 2
    assert result.output == {"act": {"text": "done"}}


async def test_the_model_sees_functions_in_place_of_tools() -> None:
    _, world, _ = await ran("1")
    first = world.requests[0].tool_turn
    assert first is not None
    assert [tool.name for tool in first.offered] == ["code"]
    description = first.offered[0].description
    assert description.startswith("Runs Python. The code may call the functions below.")
    assert 'async def search(query: str):\n    """Finds orders."""' in description
    assert "async def pay_back(order: int, amount: float = ...):" in description


async def test_a_list_leaves_the_other_tools_to_the_model() -> None:
    of = plan(code_mode=["search"])
    _, world, _ = await ran(
        "try:\n    await pay_back(order=1)\nexcept NameError as e:\n    x=1\nx", of
    )
    first = world.requests[0].tool_turn
    assert first is not None
    assert [tool.name for tool in first.offered] == ["code", "pay-back"]
    assert value_of(world) == 1
