"""A person skips one call of an agent: the model gets one result for it, also a given one."""

from collections.abc import Callable
from typing import cast

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.control import retry_and_skip as steering
from coterie.workflows.control.fork import fork_off
from coterie.workflows.core.location import Skipped
from coterie.workflows.core.messages import ForkInput, SkipInput
from coterie.workflows.core.scope import Call, Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import BEGAN, carried, fresh
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

Model = Callable[[AgentRequest, int], AgentResponse]
TOOLS: dict[str, Json] = {
    "search": function_tool(input_schema=QUERY),
    "clock": function_tool("Clock.now", input_schema={"type": "object"}),
}
HELPER: Json = {**MODEL, "prompts": {"user": "Help with {{ input.query }}."}}
SKIPPED = "work/act/search@1.1"


class SkippedCalls(ModelWorld):
    """Calls that Ann skips while they are in progress, and the values that she gives."""

    def __init__(self, model: Model, values: dict[str, JsonValue], *, late: bool = False) -> None:
        super().__init__(model, lambda request: {"of": request.skill})
        self.values = values
        self.late = late
        """Whether a call ends before her request reaches it."""


class SkippingScope(ModelScope):
    """A scope in which a skipped call ends as `Calls` ends it."""

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        self._skip(call)
        return await super().run_agent(request, call)

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        self._skip(call)
        return await super().call_function(request, call)

    def _skip(self, call: Call) -> None:
        values = cast("SkippedCalls", self.world).values
        if call.step not in values:
            return
        asked = SkipInput(task=call.step, value=values[call.step], by="ann", why="slow")
        assert steering.skip_refusal(self.plan, self.state, asked) is None
        steering.skip(self.plan, self.state, asked, self.now(), "update", lambda _: None)
        if not cast("SkippedCalls", self.world).late:
            raise Skipped(self.state.skips.pop(call.step).value)


def two_turns(request: AgentRequest, number: int) -> AgentResponse:
    if number == 1:
        return calls(("search", {"query": "rain"}), ("clock", {}), ("search", {"query": "snow"}))
    return answer("done")


async def ran(
    of: Plan, model: Model, values: dict[str, JsonValue], *, late: bool = False
) -> tuple[TeamResult, SkippedCalls, RunState]:
    world, state = SkippedCalls(model, values, late=late), fresh(of, {})
    return await run(SkippingScope(of, state, world, None)), world, state


def sent(world: ModelWorld) -> list[tuple[str, bool]]:
    """The results of calls that the model was sent, in order."""
    turns = [one.tool_turn for one in world.requests if one.tool_turn is not None]
    return [(result.text, result.failed) for turn in turns for result in turn.results]


@pytest.mark.parametrize(
    ("value", "text", "failed", "because"),
    [
        (None, "a person skipped this call", True, "a person skipped it"),
        (
            {"rain": "today"},
            '[A person skipped this call, and gave its result.]\n{"rain":"today"}',
            False,
            "a person skipped it, and gave its result",
        ),
        (
            False,
            "[A person skipped this call, and gave its result.]\nfalse",
            False,
            "a person skipped it, and gave its result",
        ),
    ],
)
async def test_the_model_gets_one_result_for_a_skipped_call_and_the_trail_says_so(
    value: JsonValue, text: str, *, failed: bool, because: str
) -> None:
    plan = tool_plan(TOOLS, {"actor": persona(*TOOLS)})
    result, world, state = await ran(plan, two_turns, {SKIPPED: value})
    assert result.output == {"act": {"text": "done"}}
    assert sent(world) == [
        (text, failed),
        ('{"of":"Clock.now"}', False),
        ('{"of":"Discovery.collect"}', False),
    ]
    causes = {(one.step, one.status): one.because for one in state.trail}
    assert causes["act/search@1.1", "skipped"] == because
    assert causes[None, None] == f"skip of {SKIPPED} requested by ann: slow"
    [decision] = result.decisions
    assert (decision.verdict, decision.by, decision.payload) == ("skipped", "ann", value)


@pytest.mark.parametrize(
    ("value", "output"), [({"n": 1}, {"n": 1}), (None, {"of": "Discovery.collect"})]
)
async def test_a_given_result_counts_as_a_success_of_the_tool(
    value: JsonValue, output: JsonValue
) -> None:
    actor = persona(*TOOLS, tool_policy=[{"tool": "search", "exit_on_success": True}])
    result, _, _ = await ran(tool_plan(TOOLS, {"actor": actor}), two_turns, {SKIPPED: value})
    assert result.output == {"act": output}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("called_by", ["model", "step"])
@pytest.mark.parametrize(
    ("value", "notices"), [({"n": 1}, ('[From helper: {"n": 1}]',)), (None, ())]
)
async def test_a_given_result_is_the_work_that_others_read(
    value: JsonValue, notices: tuple[str, ...], called_by: str, *, late: bool
) -> None:
    tools: dict[str, Json] = {
        "helper": {"agent": "helper"},
        "critic": {"agent": "critic", "reads": [{"from": "helper", "publish": "final"}]},
    }
    personas: dict[str, Json] = {"actor": persona(*tools), "helper": HELPER, "critic": HELPER}
    reading: list[Json] = [
        {"name": name, "kind": "tool", "tool": name, "arguments": {"query": "it"}} for name in tools
    ]

    def model(request: AgentRequest, number: int) -> AgentResponse:
        names = ["helper", "critic"] if called_by == "model" else []
        if request.task != "act" or number > len(names):
            return answer("done")
        return calls((names[number - 1], {"query": "it"}))

    tasks = reading if called_by == "step" else []
    skipped = "work/helper" if called_by == "step" else "work/act/helper@1.1"
    plan = tool_plan(tools, personas, tasks=tasks)
    _, world, _ = await ran(plan, model, {skipped: value}, late=late)
    [read] = [one.notices for one in world.requests if one.task == "critic"]
    assert read == notices


async def test_a_skipped_call_leaves_nothing_of_its_progress() -> None:
    """Neither what hooks let pass nor what an agent within it has in progress."""
    never: Json = {"name": "h", "on": "before_tool_call", "decide": "reject"}
    hook: Json = {**never, "when": {"expression": "{{ tool == 'x' }}"}}
    tools: dict[str, Json] = {**TOOLS, "helper": {"agent": "helper"}}
    personas: dict[str, Json] = {
        "actor": persona("helper", "search", hooks=[hook]),
        "helper": persona("clock"),
    }
    of = tool_plan(tools, personas)
    state = fresh(of, {})
    kept: list[list[str]] = []

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if number == 1:
            return calls(("search", {"query": "rain"}), ("helper", {}))
        kept.append([key for kind in state.progress.kinds() for key in kind])
        return answer("done")

    world = SkippedCalls(model, {SKIPPED: 1, "work/act/helper@1.2": 2})
    await run(SkippingScope(of, state, world, None))
    [keys] = kept
    assert [key for key in keys if "@" in key] == []


@pytest.mark.parametrize("stop", range(5))
async def test_each_call_has_one_result_wherever_the_run_is_forked(stop: int) -> None:
    plan = tool_plan(TOOLS, {"actor": persona(*TOOLS)})
    values: dict[str, JsonValue] = {SKIPPED: {"n": 1}, "work/act/search@1.3": None}
    world, state = SkippedCalls(two_turns, values), fresh(plan, {})
    with pytest.raises(Interrupted):
        await run(SkippingScope(plan, state, world, stop))
    forked = carried(state)
    fork_off(forked, ForkInput(run="other", by="ann"), "there", BEGAN, plan.context)
    result = await run(SkippingScope(plan, forked, world, None))
    assert result.output == {"act": {"text": "done"}}
    assert sent(world) == [
        ('[A person skipped this call, and gave its result.]\n{"n":1}', False),
        ('{"of":"Clock.now"}', False),
        ("a person skipped this call", True),
    ]
    assert [one.skill for one in world.made] == ["Clock.now"]
