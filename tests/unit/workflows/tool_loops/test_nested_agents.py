"""Agents and teams as tools of an agent: what the parent sees, and what a crash repeats."""

import json
from collections.abc import Callable

import pytest

from coterie.activities.contracts import AgentError, AgentRequest, AgentResponse
from coterie.dsl.model.plan import Plan
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
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
from tests.unit.workflows.tool_loops.test_tool_loop import found, stopped_everywhere

Model = Callable[[AgentRequest, int], AgentResponse]
WRITER: Json = {**MODEL, "prompts": {"system": "You write.", "user": "{{ input.query }}"}}
ASK: Json = {"query": "rain"}


def plan(tool: Json, of_persona: Json = WRITER, **more: JsonValue) -> Plan:
    """A plan whose agent may call `helper`, and `look` itself."""
    tools: dict[str, Json] = {
        "helper": {"input_schema": QUERY, **tool},
        "look": function_tool(input_schema={"type": "object"}),
    }
    actor = persona("helper", "look", **more)
    return tool_plan(tools, {"actor": actor, "writer": of_persona})


async def ran(of: Plan, model: Model) -> tuple[TeamResult, ModelWorld, RunState]:
    world, state = ModelWorld(model, found), fresh(of, {})
    return await run(ModelScope(of, state, world, None)), world, state


def results(world: ModelWorld, task: str = "act") -> list[ToolResult]:
    """All results that the agent of a task got."""
    turns = [one.tool_turn for one in world.requests if one.task == task]
    return [result for turn in turns if turn is not None for result in turn.results]


def of_tasks(**models: Model) -> Model:
    """A model for each task."""
    return lambda request, number: models[request.task](request, number)


def once(*asked: tuple[str, Json]) -> Model:
    """A model that asks for calls once, and then answers."""
    return lambda _, number: calls(*asked) if number == 1 else answer("done")


async def test_an_agent_as_a_tool_answers_its_parent() -> None:
    model = of_tasks(act=once(("helper", ASK)), helper=lambda _, __: answer("It rains."))
    result, world, state = await ran(plan({"agent": "writer"}), model)
    assert result.output == {"act": {"text": "done"}}
    assert results(world) == [ToolResult(text='{"text":"It rains."}')]
    helper = world.requests[1]
    assert (helper.task, helper.visit, helper.inputs) == ("helper", 1, {"input": ASK})
    assert world.calls == ["0001.work.act.t1", "0002.work.helper", "0003.work.act.t2"]
    assert {one.task for one in state.tallies.values()} == {"work/act", "work/act/helper"}


async def test_calls_of_one_agent_are_numbered_by_their_visit() -> None:
    asked: list[tuple[str, Json]] = [("helper", {"query": text}) for text in ("a", "b")]
    model = of_tasks(act=once(*asked), helper=lambda request, _: answer(f"{request.visit}"))
    _, world, _ = await ran(plan({"agent": "writer"}), model)
    assert [result.text for result in results(world)] == ['{"text":"1"}', '{"text":"2"}']


async def test_an_agent_that_fails_is_a_result_that_says_so() -> None:
    error = AgentError(type="AnswerRefused", message="no")
    failing = AgentResponse(success=False, error=error)
    model = of_tasks(act=once(("helper", ASK)), helper=lambda _, __: failing)
    result, world, _ = await ran(plan({"agent": "writer"}), model)
    assert result.end == "completed"
    assert results(world) == [ToolResult(text="AnswerRefused: no", failed=True)]


@pytest.mark.parametrize(("on_error", "attempts"), [("surface", 1), ("retry", 3)])
async def test_attempts_of_a_whole_agent_follow_its_contract(on_error: str, attempts: int) -> None:
    error = AgentError(type="AnswerUnusable", message="no")
    failing = AgentResponse(success=False, error=error)
    model = of_tasks(act=once(("helper", ASK)), helper=lambda _, __: failing)
    tool: Json = {"agent": "writer", "on_error": on_error, "retries": 2}
    _, world, state = await ran(plan(tool, {**WRITER, "max_reasks": 0}), model)
    assert sum(one.task == "helper" for one in world.requests) == attempts
    assert [result.failed for result in results(world)] == [True]
    assert state.progress.tool_retries == {}


async def test_a_result_that_does_not_match_is_an_error_for_the_parent() -> None:
    model = of_tasks(act=once(("helper", ASK)), helper=lambda _, __: answer("It rains."))
    schema: Json = {"type": "object", "required": ["degrees"]}
    _, world, _ = await ran(plan({"agent": "writer", "output_schema": schema}), model)
    (result,) = results(world)
    assert result.failed
    assert result.text.startswith("InvalidResult: 'helper': the result")


async def test_an_agent_with_tools_calls_them_below_its_own_call() -> None:
    inner = persona("look")
    model = of_tasks(act=once(("helper", ASK)), helper=once(("look", {"n": 1})))
    of = plan({"agent": "writer"}, inner)
    result, world, state = await ran(of, model)
    assert [request.key for request in world.made] == [
        "test/first/work/act/helper@1.1/look@1.1#1",
    ]
    assert results(world) == [ToolResult(text='{"text":"done"}')]
    whole = state.trail_digest
    parts, again, state = await stopped_everywhere(of, model)
    assert parts.output == result.output
    assert state.trail_digest == whole
    assert len(again.calls) == len(set(again.calls)) == 5


async def test_agents_that_call_each_other_end_at_a_depth() -> None:
    inner = persona("helper")
    model = of_tasks(act=once(("helper", ASK)), helper=once(("helper", ASK)))
    _, world, _ = await ran(plan({"agent": "writer"}, inner), model)
    deepest = [result.text for result in results(world, "helper") if result.failed]
    assert len(deepest) == 1
    assert deepest[0].startswith("NestedTooDeep: ")
    assert sum(one.task == "helper" for one in world.requests) == 10


async def test_a_nested_agent_is_offered_no_handoffs() -> None:
    inner = persona("look", handoffs=["work"])
    model = of_tasks(act=once(("helper", ASK)), helper=lambda _, __: answer("done"))
    _, world, _ = await ran(plan({"agent": "writer"}, inner), model)
    offered = [one.tool_turn.offered for one in world.requests if one.tool_turn is not None]
    assert [[tool.name for tool in tools] for tools in offered] == [
        ["helper", "look"],
        ["look"],
        [],
    ]


async def test_a_stateful_agent_has_one_conversation_and_one_call_at_a_time() -> None:
    inner = persona("look")
    asked: list[tuple[str, Json]] = [("helper", {"query": text}) for text in ("a", "b", "c")]

    def helper(request: AgentRequest, number: int) -> AgentResponse:
        assert request.conversation is not None
        if number % 2 == 1:
            return calls(("look", {"n": number}))
        return answer(f"{number}")

    model = of_tasks(act=once(*asked), helper=helper)
    of = plan({"agent": "writer", "stateful": True}, inner)
    _, world, state = await ran(of, model)
    assert [result.text for result in results(world)] == [
        '{"text":"2"}',
        '{"text":"4"}',
        '{"text":"6"}',
    ]
    assert set(state.conversations) == {"tool:helper"}
    _, again, _ = await stopped_everywhere(of, model)
    assert [result.text for result in results(again)] == [result.text for result in results(world)]
    assert len(again.calls) == len(set(again.calls)) == 11


async def test_calls_run_one_after_another_without_parallel_calls_also_of_stateful_agents() -> None:
    asked: list[tuple[str, Json]] = [("look", {"n": 1}), ("helper", ASK), ("look", {"n": 2})]
    model = of_tasks(act=once(*asked), helper=lambda _, __: answer("done"))
    of = plan({"agent": "writer", "stateful": True}, parallel_tool_calls=False)
    _, world, _ = await ran(of, model)
    assert world.calls[1:-1] == [
        "0002.work.look@1.1",
        "0003.work.helper",
        "0004.work.look@1.3",
    ]


async def test_a_stateless_agent_starts_anew_with_each_call() -> None:
    asked: list[tuple[str, Json]] = [("helper", {"query": text}) for text in ("a", "b")]
    model = of_tasks(act=once(*asked), helper=lambda _, number: answer(f"{number}"))
    _, world, state = await ran(plan({"agent": "writer"}), model)
    assert [result.text for result in results(world)] == ['{"text":"1"}'] * 2
    assert state.conversations == {}


def team_plan(*steps: JsonValue, **more: JsonValue) -> Plan:
    audit: Json = {"id": "audit", "steps": list(steps), **more}
    tools: dict[str, Json] = {"helper": {"team": "audit", "input_schema": QUERY}}
    return tool_plan(tools, {"actor": persona("helper")}, teams={"audit": audit})


async def test_a_team_as_a_tool_gets_the_arguments_in_its_copy_of_the_context() -> None:
    step: Json = {"name": "read", "kind": "return", "value": "{{ context.query }}"}
    of = team_plan(step, output="{{ context.query }} it is")
    result, world, state = await ran(of, once(("helper", ASK)))
    assert results(world) == [ToolResult(text="rain it is")]
    assert result.context == {}
    assert result.visits == {"work": 1, "audit": 1}
    _, again, after = await stopped_everywhere(of, once(("helper", ASK)))
    assert results(again) == results(world)
    assert after.trail_digest == state.trail_digest


async def test_a_team_that_fails_is_a_result_that_says_so() -> None:
    step: Json = {"name": "stop", "kind": "fail", "message": "not today"}
    result, world, _ = await ran(team_plan(step), once(("helper", ASK)))
    assert result.end == "completed"
    (failed,) = results(world)
    assert failed.failed
    assert "not today" in failed.text


async def test_a_team_without_a_declared_output_gives_what_its_tasks_came_to() -> None:
    step: Json = {"name": "count", "kind": "set", "values": {"n": 3}}
    _, world, _ = await ran(team_plan(step), once(("helper", ASK)))
    assert results(world) == [ToolResult(text='{"count":{"n":3}}')]


async def test_a_call_of_an_agent_waits_for_its_approval() -> None:
    tool: Json = {"agent": "writer", "requires_approval": "before"}
    model = of_tasks(act=once(("helper", ASK)), helper=lambda _, __: answer("done"))
    of = plan(tool)
    _, world, state = await ran(of, model)  # ann approves what waits
    assert state.decisions["work/act/helper@1.1#1"].verdict == "approved"
    assert results(world) == [ToolResult(text='{"text":"done"}')]


@pytest.mark.parametrize(
    ("publish", "seen"),
    [
        ("final", ("[From finder: Rome]",)),
        ("tool_result", ("[From finder: look: {READ}]", "[From finder: Rome]")),
    ],
)
@pytest.mark.parametrize("caller", ["model", "step"])
async def test_a_tool_reads_the_accepted_work_of_another(
    publish: str, seen: tuple[str, ...], caller: str
) -> None:
    tools: dict[str, Json] = {
        "finder": {"agent": "finder", "input_schema": QUERY},
        "helper": {
            "agent": "writer",
            "input_schema": QUERY,
            "reads": [{"from": "finder", "publish": publish}],
        },
        "look": function_tool(input_schema={"type": "object"}),
    }
    personas = {"actor": persona("finder", "helper"), "writer": WRITER, "finder": persona("look")}
    asked: list[tuple[str, Json]] = [("helper", ASK), ("finder", ASK), ("helper", ASK)]
    steps: list[JsonValue] = [
        {"kind": "tool", "name": f"s{number}", "tool": name, "arguments": given}
        for number, (name, given) in enumerate(asked)
    ]
    by_steps: dict[str, Json] = {"work": {"id": "work", "steps": steps}}
    of = tool_plan(tools, personas, teams=by_steps if caller == "step" else None)

    def act(_: AgentRequest, number: int) -> AgentResponse:
        return calls(asked[number - 1]) if number <= len(asked) else answer("done")

    def finder(_: AgentRequest, number: int) -> AgentResponse:
        return calls(("look", {"n": 1})) if number == 1 else answer("Rome")

    model = of_tasks(act=act, finder=finder, helper=lambda _, __: answer("written"))
    _, world, state = await ran(of, model)
    read = json.dumps({"of": "Discovery.collect", "input": {"n": 1}})
    expected = tuple(text.replace("{READ}", read) for text in seen)
    assert [one.notices for one in world.requests if one.task == "helper"] == [(), expected]
    assert state.progress.shared_work == state.progress.unpublished == {}
    _, again, after = await stopped_everywhere(of, model)
    assert after.trail_digest == state.trail_digest
    assert len(again.calls) == len(set(again.calls)) == len(world.calls)


@pytest.mark.parametrize(
    ("stateful", "asked_again", "seen"),
    [
        (False, ASK, ("[From finder: Rome 2]",)),
        (False, {"query": "wind"}, ("[From finder: Rome 1]", "[From finder: Rome 2]")),
        (True, {"query": "wind"}, ("[From finder: Rome 2]",)),
    ],
)
async def test_work_that_is_published_anew_takes_the_place_of_the_earlier(
    stateful: bool, asked_again: Json, seen: tuple[str, ...]
) -> None:
    """Equal arguments ask for the same work; a stateful agent has one piece of work."""
    tools: dict[str, Json] = {
        "finder": {"agent": "finder", "input_schema": QUERY, "stateful": stateful},
        "helper": {"agent": "writer", "input_schema": QUERY, "reads": [{"from": "finder"}]},
    }
    personas = {"actor": persona("finder", "helper"), "writer": WRITER, "finder": WRITER}
    asked: list[tuple[str, Json]] = [("finder", ASK), ("finder", asked_again), ("helper", ASK)]

    def act(_: AgentRequest, number: int) -> AgentResponse:
        return calls(asked[number - 1]) if number <= len(asked) else answer("done")

    found = iter(range(1, 9))
    model = of_tasks(
        act=act,
        finder=lambda _, __: answer(f"Rome {next(found)}"),
        helper=lambda _, __: answer("written"),
    )
    _, world, _ = await ran(tool_plan(tools, personas), model)
    assert [one.notices for one in world.requests if one.task == "helper"] == [seen]


async def test_a_failed_call_publishes_nothing() -> None:
    error = AgentError(type="AnswerRefused", message="no")
    failing = AgentResponse(success=False, error=error)
    tool: Json = {"agent": "writer", "reads": [{"from": "helper"}]}
    model = of_tasks(act=once(("helper", ASK)), helper=lambda _, __: failing)
    _, _, state = await ran(plan(tool), model)
    assert state.published == {}


async def test_a_stateful_agent_without_tools_sees_its_unusable_answer_in_its_next_call() -> None:
    asked: list[tuple[str, Json]] = [("helper", {"query": text}) for text in ("a", "b")]

    def helper(request: AgentRequest, number: int) -> AgentResponse:
        return unusable("not JSON") if number == 1 else answer(f"turn {number}")

    tool: Json = {"agent": "writer", "stateful": True, "on_error": "surface"}
    of = plan(tool, {**WRITER, "max_reasks": 0})
    _, world, state = await ran(of, of_tasks(act=once(*asked), helper=helper))
    assert [(one.text, one.failed) for one in results(world)] == [
        ("AnswerUnusable: not JSON", True),
        ('{"text":"turn 2"}', False),
    ]
    first, second = (one.conversation for one in world.requests if one.task == "helper")
    assert first is not None
    assert second is not None
    assert (first.head, second.head) == (None, "0002.work.helper")
    assert state.conversations == {"tool:helper": "0003.work.helper"}
