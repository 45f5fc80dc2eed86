"""What is sent for an agent of one's own class, and which stored result a call gets again."""

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
    KeptResult,
)
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.scope import Call
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


class WatchedScope(ModelScope):
    """A scope that keeps the options of each call, and whose tool functions' results are stored."""

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        self.timeouts = [
            *getattr(self, "timeouts", []),
            (call.options.timeout, call.options.retries),
        ]
        return await super().run_agent(request, call)

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        self.retries = call.options.retries
        found = await super().call_function(request, call)
        if not request.keep:
            return found
        return FunctionResult(kept=KeptResult(name="blob", size=9_000, preview=""))


@pytest.mark.parametrize(
    ("step", "inputs", "seconds"),
    [
        ({"input": {"goal": "{{ context.goal }}"}}, {"input": {"goal": "win"}}, 600),
        ({"input": None}, {"context": {"goal": "win"}}, 600),
        ({"input": None, "timeout": 5}, {"context": {"goal": "win"}}, 5),
    ],
)
async def test_an_agent_of_ones_own_class_gets_its_input_or_else_the_context(
    step: Json, inputs: Json, seconds: float
) -> None:
    own: Json = {"agent_class": "my.Agent", "agent_type": None, "persona_key": None, **step}
    of = tool_plan({}, {}, step=own)
    world = ModelWorld(lambda _, __: answer("done"), lambda _: {})
    scope = WatchedScope(of, fresh(of, {"goal": "win"}), world, None)
    await run(scope)
    [request] = world.requests
    assert (request.agent_class, request.inputs) == ("my.Agent", inputs)
    assert scope.timeouts == [(seconds, 2)]


@pytest.mark.parametrize(("seconds", "made"), [(None, 7), (5, 5)])
async def test_the_time_of_a_task_replaces_that_of_its_persona(
    seconds: JsonValue, made: float
) -> None:
    of = tool_plan(
        {},
        {"actor": persona(timeout=7, retries=1)},
        step={"agent_type": "generic_single_shot", "timeout": seconds},
    )
    world = ModelWorld(lambda _, __: answer("done"), lambda _: {})
    scope = WatchedScope(of, fresh(of, {}), world, None)
    await run(scope)
    assert scope.timeouts == [(made, 1)]


async def test_an_equal_call_gets_the_stored_result_only_where_nobody_reads_it_here() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        return calls(("search", {"query": "rain"})) if number < 3 else answer("done")

    look: Json = {"name": "look", "kind": "tool", "tool": "search", "arguments": {"query": "rain"}}
    of = tool_plan(
        {"search": function_tool(input_schema=QUERY, cache="run")},
        {"actor": persona("search")},
        tasks=[look],
    )
    world = ModelWorld(model, lambda _: {"n": 1})
    result = await run(WatchedScope(of, fresh(of, {}), world, None))
    turns = [one.tool_turn for one in world.requests if one.tool_turn is not None]
    assert [(one.kept, one.size) for turn in turns for one in turn.results] == [("blob", 9_000)] * 2
    assert [request.keep for request in world.made] == [True, False]
    assert isinstance(result.output, dict)
    assert result.output["look"] == {"n": 1}


@pytest.mark.parametrize(
    ("own", "limit", "made"), [(5, None, 5), (5, 2, 2), (1, 2, 1), (5, 0, 0), (0, 3, 0)]
)
async def test_a_call_has_the_fewest_retries_of_its_step_and_its_tool(
    own: int, limit: JsonValue, made: int
) -> None:
    terms: Json = {"effect": "read", "timeout": 5, "retries": own}
    step: Json = {"kind": "tool", "name": "see", "tool": "look", "call_retries": limit}
    team: Json = {"id": "work", "steps": [step]}
    of = tool_plan({"look": function_tool(terms=terms)}, {}, teams={"work": team})
    scope = WatchedScope(
        of, fresh(of, {}), ModelWorld(lambda _, __: answer("done"), lambda _: {}), None
    )
    await run(scope)
    assert scope.retries == made
