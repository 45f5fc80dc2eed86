"""The calls of one turn: which run at once, what the run keeps of them, what people change."""

import asyncio
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
from coterie.runs.in_process.local_scope import LocalScope
from coterie.workflows.core.causes.agent_causes import CallRepeated
from coterie.workflows.core.messages import DecideInput, SkipInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.scope import Call, Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import StepKey
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
    unusable,
)

OBJECT: Json = {"type": "object"}
TOOLS: dict[str, Json] = {
    "search": function_tool(input_schema=QUERY),
    "clock": function_tool("Clock.now", input_schema=OBJECT),
}
HELPER: Json = {**MODEL, "prompts": {"user": "Help with {{ input.query }}."}}
TWO: tuple[tuple[str, Json], ...] = (("search", {"query": "rain"}), ("clock", {}))
START = BEGAN.timestamp()
Model = Callable[[AgentRequest, int], AgentResponse]


class Busy:
    """A world that knows which calls are in progress at once."""

    def __init__(self, asked: list[tuple[str, Json]]) -> None:
        self.asked = asked
        self.now: list[str] = []
        self.together: set[tuple[str, ...]] = set()

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        if request.team == "work" and request.task == "helper":
            await self._do("helper")
            return answer("helped").model_copy(update={"conversation": "helped"})
        assert request.tool_turn is not None
        begins = not request.tool_turn.continues
        response = calls(*self.asked) if begins else answer("done")
        return response.model_copy(update={"conversation": "begun" if begins else "ended"})

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        await self._do(request.skill.partition(".")[2])
        return FunctionResult(data=1)

    async def _do(self, name: str) -> None:
        self.now.append(name)
        for _ in range(50):
            await asyncio.sleep(0)
        self.together.add(tuple(sorted(self.now)))
        self.now.remove(name)


async def together(*asked: tuple[str, Json], parallel: bool = True) -> set[tuple[str, ...]]:
    """Which calls were in progress when one of them ended."""
    tools: dict[str, Json] = {
        **TOOLS,
        "helper": {"agent": "helper", "input_schema": QUERY, "stateful": True},
    }
    actor = persona(*tools, parallel_tool_calls=parallel)
    of = tool_plan(tools, {"actor": actor, "helper": HELPER})
    world = Busy([*asked])
    await run(LocalScope(of, fresh(of, {}), world))
    return world.together


HELP: tuple[str, Json] = ("helper", {"query": "rain"})


@pytest.mark.parametrize(
    ("asked", "parallel", "expected"),
    [
        (TWO, True, {("collect", "now"), ("now",)}),
        (TWO, False, {("collect",), ("now",)}),
        ((HELP, HELP), True, {("helper",)}),
        ((HELP, HELP), False, {("helper",)}),
    ],
    ids=["parallel", "one after another", "a stateful agent twice", "the same, one after another"],
)
async def test_calls_run_at_once_unless_the_persona_or_a_stateful_agent_forbids_it(
    asked: tuple[tuple[str, Json], ...], parallel: bool, expected: set[tuple[str, ...]]
) -> None:
    assert await together(*asked, parallel=parallel) == expected


async def test_a_stateful_agent_runs_beside_other_tools() -> None:
    found = await together(HELP, TWO[0], HELP)
    assert ("collect", "helper") in found
    assert all(one.count("helper") < 2 for one in found)


class DecidedWorld(ModelWorld):
    """A world in which a person decides every request in this way."""

    decided: Json


class CallScope(ModelScope):
    """Calls of tool functions take a time with more digits than people see."""

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        self.world.seconds += 0.23456
        return await super().call_function(request, call)

    def decision_about(self, request: Pending) -> DecideInput:
        decided = cast("DecidedWorld", self.world).decided
        return DecideInput.model_validate(
            {"id": request.id, "decision": "approve", "by": "ann", **decided}
        )


class Run:
    """One run whose model and tool functions may look at its state."""

    def __init__(self, of: Plan, model: Model, **decided: JsonValue) -> None:
        self.plan = of
        self.state = fresh(of, {})
        self.seen: list[dict[str, float]] = []
        self.world = DecidedWorld(model, self._function)
        self.world.decided = decided

    def _function(self, request: FunctionRequest) -> JsonValue:
        doing = self.state.doing
        self.seen.append({key: round(at - START, 3) for key, at in doing.items() if "@" in key})
        return {"of": request.skill}

    async def run(self, stop_at: int | None = None) -> RunState:
        while True:
            try:
                await run(CallScope(self.plan, self.state, self.world, stop_at))
                return self.state
            except Interrupted:
                self.state = carried(self.state)

    def texts(self, request: int) -> list[str]:
        """The results that a request brings."""
        turn = self.world.requests[request].tool_turn
        assert turn is not None
        return [result.text for result in turn.results]


def plan(*tools: str, **of_persona: JsonValue) -> Plan:
    return tool_plan(TOOLS, {"actor": persona(*(tools or TOOLS), **of_persona)})


def two_turns(request: AgentRequest, number: int) -> AgentResponse:
    return calls(*TWO) if number == 1 else answer("done")


async def test_the_trail_has_the_seconds_of_a_call_and_the_state_when_it_began() -> None:
    one = Run(plan(), two_turns)
    state = await one.run()
    ends = [(entry.step, entry.seconds) for entry in state.trail if entry.event == "tool_end"]
    assert ends == [("act/search@1.1", 1.235), ("act/clock@1.2", 1.235)]
    assert one.seen == [
        {"work/act/search@1.1": 1.0},
        {"work/act/clock@1.2": 2.235},
    ]


@pytest.mark.parametrize("stop_at", [None, 1])
async def test_a_person_may_skip_a_call_before_it_starts(stop_at: int | None) -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        if number == 1:
            asked = SkipInput(task="clock", value=None, by="ann")
            one.state.skips[StepKey("work/act/clock@1.2")] = asked
        return two_turns(request, number)

    one = Run(plan(), model)
    state = await one.run(stop_at)
    assert [request.skill for request in one.world.made] == ["Discovery.collect"]
    assert one.texts(1) == ['{"of":"Discovery.collect"}', "a person skipped this call"]
    found = [(entry.step, entry.status, entry.seconds) for entry in state.trail if entry.event]
    assert ("act/clock@1.2", "skipped", None) in found
    assert "act/clock@1.2" not in [step for step, status, _ in found if status == "started"]
    assert state.skips == {}


async def test_the_trail_has_a_call_that_repeats_its_result_once() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        return calls(("clock", {})) if number < 5 else answer("done")

    state = await Run(plan(), model).run()
    found = [(one.step, one.cause) for one in state.trail if one.status == "repeated"]
    assert found == [("act", CallRepeated("call_repeated", "clock", 3))]


async def test_a_call_has_the_number_of_its_turn_among_all_turns_and_reasks() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        if number == 2:
            return unusable("no JSON")
        return AgentResponse(data={}) if number == 4 else calls(("clock", {"n": number}))

    third: Json = {"expression": "{{ turn == 3 }}"}
    hook: Json = {"name": "h", "on": "before_tool_call", "decide": "reject", "when": third}
    state = await Run(plan(output_schema=OBJECT, hooks=[hook]), model).run()
    ends = [(entry.step, entry.status) for entry in state.trail if entry.event == "tool_end"]
    assert ends == [("act/clock@1.1", "success"), ("act/clock@3.1", "failure")]


async def test_a_call_of_an_ordinary_agent_leaves_nothing_in_the_state() -> None:
    kept: list[JsonValue] = []

    def model(request: AgentRequest, number: int) -> AgentResponse:
        progress = one.state.progress
        kept.append([*progress.unpublished, *progress.hooked_calls, *progress.approved_inputs])
        return calls(("clock", {"n": number})) if number < 3 else answer("done")

    hook: Json = {"name": "h", "on": "before_tool_call", "decide": "reject"}
    never: Json = {**hook, "when": {"expression": "{{ tool == 'x' }}"}}
    one = Run(plan(hooks=[never]), model)
    await one.run()
    assert kept == [[], [], []]


def approving(**terms: JsonValue) -> Plan:
    """The plan of an agent whose calls of `search` a person approves."""
    tools = {"search": function_tool(input_schema=QUERY, requires_approval=terms)}
    return tool_plan(tools, {"actor": persona("search")})


def one_search(request: AgentRequest, number: int) -> AgentResponse:
    return calls(TWO[0]) if number == 1 else answer("done")


@pytest.mark.parametrize(
    ("terms", "decided", "made", "text"),
    [
        ({}, {}, 1, '{"of":"Discovery.collect"}'),
        ({}, {"decision": "reject", "comment": "no"}, 0, "Rejected: ann rejected it: no"),
        ({"at": "after"}, {}, 1, '{"of":"Discovery.collect"}'),
        (
            {"at": "after"},
            {"decision": "reject", "comment": "no"},
            1,
            "Rejected: ann rejected it: no",
        ),
        (
            {"at": "after", "editable": True},
            {"payload": {"of": "ann"}},
            1,
            '{"of":"ann"}',
        ),
        (
            {"editable": True},
            {"payload": {"query": "sun"}},
            1,
            '[A person changed the arguments: query: "rain" -> "sun"]\n{"of":"Discovery.collect"}',
        ),
        (
            {"editable": True, "schema": OBJECT},
            {"payload": {"query": 1}},
            0,
            "InvalidArguments: a person changed the arguments: "
            "arguments.query is a number, not a text",
        ),
    ],
    ids=["approved", "rejected", "accepted", "not accepted", "result changed", "changed", "unfit"],
)
async def test_the_model_gets_what_a_person_makes_of_a_call(
    terms: Json, decided: Json, made: int, text: str
) -> None:
    one = Run(approving(**terms), one_search, **decided)
    await one.run()
    assert len(one.world.made) == made
    assert one.texts(1) == [text]


@pytest.mark.parametrize(
    ("response", "data"),
    [
        (AgentResponse(data={"n": 1}), {"n": 1, "tool_calls": []}),
        (AgentResponse(data="hi"), {"text": "", "tool_calls": []}),
        (
            calls(("clock", {"n": 1})).model_copy(update={"data": {"text": "Look.", "n": 1}}),
            {"text": "Look.", "tool_calls": [{"tool": "clock", "arguments": {"n": 1}}]},
        ),
    ],
)
async def test_calls_that_are_handed_back_come_with_the_answer(
    response: AgentResponse, data: Json
) -> None:
    of = plan(tool_calls="return")
    state = fresh(of, {})
    world = ModelWorld(lambda _, __: response, lambda _: None)
    result = await run(ModelScope(of, state, world, None))
    assert result.output == {"act": data}
