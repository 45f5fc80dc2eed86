"""Agents that use tools, in one process: what the model is sent, and what the step comes to."""

from collections.abc import Callable
from typing import Any

import pytest

from coterie.activities.contracts import AgentError, AgentRequest, AgentResponse, FunctionRequest
from coterie.dsl.model.plan import Plan
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.tool_loop.result_texts import LOST
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import CallFailed, Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of
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
    unusable,
)

TOOLS: dict[str, Json] = {
    "search": function_tool(input_schema=QUERY),
    "clock": function_tool("Clock.now", input_schema={"type": "object"}),
}
Model = Callable[[AgentRequest, int], AgentResponse]


def plan(*tools: str, **of_persona: JsonValue) -> Plan:
    """The plan of an agent with these tools, or with all."""
    actor = persona(*(tools or TOOLS), **of_persona)
    return tool_plan(TOOLS, {"actor": actor})


def found(request: FunctionRequest) -> JsonValue:
    """What the tool functions return."""
    return {"of": request.skill, "input": request.input}


async def ran(
    of: Plan, model: Model, function: Callable[[FunctionRequest], JsonValue] = found
) -> tuple[TeamResult, ModelWorld, RunState]:
    """The run from beginning to end."""
    world, state = ModelWorld(model, function), fresh(of, {})
    return await run(ModelScope(of, state, world, None)), world, state


async def stopped_everywhere(of: Plan, model: Model) -> tuple[TeamResult, ModelWorld, RunState]:
    """The run, continued as new at every second checkpoint."""
    world, state = ModelWorld(model, found), fresh(of, {})
    for _ in range(1000):
        try:
            return await run(ModelScope(of, state, world, 1)), world, state
        except Interrupted:
            state = carried(state)
    raise AssertionError("the run never ended")


def two_turns(request: AgentRequest, number: int) -> AgentResponse:
    if number == 1:
        return calls(("search", {"query": "rain"}), ("clock", {}))
    return answer("done")


def results(request: AgentRequest) -> list[ToolResult]:
    assert request.tool_turn is not None
    return list(request.tool_turn.results)


async def test_a_turn_and_its_calls_are_one_activity_each() -> None:
    result, world, _ = await ran(plan(), two_turns)
    assert result.output == {"act": {"text": "done"}}
    assert world.calls == [
        "0001.work.act.t1",
        "0002.work.search@1.1",
        "0003.work.clock@1.2",
        "0004.work.act.t2",
    ]
    assert (result.model_calls, result.function_calls) == (2, 2)


async def test_the_first_request_has_all_and_a_later_one_only_what_is_new() -> None:
    _, world, _ = await ran(plan(), two_turns)
    first, later = world.requests
    assert first.persona is not None
    assert first.persona.tools == ()
    assert first.tool_turn is not None
    assert [tool.name for tool in first.tool_turn.offered] == ["search", "clock"]
    assert first.tool_turn.offered[0].input_schema == QUERY
    assert later.persona is None
    assert later.inputs == {}
    assert later.provider == "scripted"
    assert later.conversation is not None
    assert later.conversation.head == "0001.work.act.t1"
    assert [result.text for result in results(later)] == [
        '{"of":"Discovery.collect","input":{"query":"rain"}}',
        '{"of":"Clock.now","input":{}}',
    ]


async def test_results_come_in_the_order_of_the_calls_whatever_ends_first() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        if number == 1:
            asked: list[tuple[str, Json]] = [("search", {"query": str(i)}) for i in range(5)]
            return calls(*asked)
        return answer("done")

    _, world, _ = await ran(plan(), model)
    assert [result.text[-4:-2] for result in results(world.requests[1])] == [
        f'{i}"' for i in range(5)
    ]


async def test_nothing_recorded_repeats_wherever_a_run_continues_as_new() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        if number < 4:
            return calls(("search", {"query": f"{number}"}), ("clock", {"n": number}))
        return answer("done")

    whole, _, before = await ran(plan(), model)
    parts, world, after = await stopped_everywhere(plan(), model)
    assert parts.output == whole.output
    assert parts.trail_digest == whole.trail_digest
    assert len(world.calls) == len(set(world.calls)) == 10
    assert after.progress.tool_loops == before.progress.tool_loops == {}


async def test_corrective_results_reach_the_model_in_their_places() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        if number == 1:
            return calls(("serch", {}), ("search", {"query": 3}), ("clock", {}))
        return answer("done")

    _, world, _ = await ran(plan(), model)
    unknown, invalid, clock = results(world.requests[1])
    assert unknown.failed
    assert unknown.text.startswith("there is no tool 'serch'; tools: clock, search")
    assert invalid.failed
    assert "arguments.query" in invalid.text
    assert not clock.failed
    assert [request.skill for request in world.made] == ["Clock.now"]


async def test_a_failed_call_is_a_result_that_says_so() -> None:
    def function(request: FunctionRequest) -> JsonValue:
        return {"fails": "FunctionFailed", "message": "no network"}

    _, world, state = await ran(plan(), two_turns, function)
    assert results(world.requests[1]) == [
        ToolResult(text="FunctionFailed: no network", failed=True),
        ToolResult(text="FunctionFailed: no network", failed=True),
    ]
    shown = [(one.step, one.status) for one in state.trail if "@" in (one.step or "")]
    assert shown == [
        ("act/search@1.1", "started"),
        ("act/search@1.1", "failure"),
        ("act/clock@1.2", "started"),
        ("act/clock@1.2", "failure"),
    ]


async def test_the_keys_of_calls_name_run_execution_step_and_turn() -> None:
    _, world, _ = await ran(plan(), two_turns)
    assert [request.key for request in world.made] == [
        "test/first/work/act/search@1.1#1",
        "test/first/work/act/clock@1.2#1",
    ]
    assert all(request.keep for request in world.made)


async def test_after_the_last_turn_the_model_must_answer() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        assert request.tool_turn is not None
        if request.tool_turn.choice == "none":
            return answer("at last")
        return calls(("clock", {"n": number}))

    result, world, _ = await ran(plan(max_turns=2), model)
    assert result.output == {"act": {"text": "at last"}}
    assert len(world.requests) == 3
    assert world.requests[2].notices == (
        "[Note: no turns are left, and no tool runs any more. Answer now.]",
    )


async def test_an_unmet_policy_fails_the_step() -> None:
    policy: list[JsonValue] = [{"tool": "search", "min_calls": 1}]
    world, of = (
        ModelWorld(lambda _, __: answer("I am done"), found),
        plan(max_turns=2, tool_policy=policy),
    )
    with pytest.raises(RunFailed, match="ToolPolicyUnmet: agent 'act' has used its 2 turns"):
        await run(ModelScope(of, fresh(of, {}), world, None))
    assert len(world.requests) == 2
    assert world.requests[1].notices == (
        "[Note: before you answer, call search once (so far: 0).]",
    )


async def test_a_success_that_exits_gives_the_step_its_data() -> None:
    policy: list[JsonValue] = [{"tool": "clock", "exit_on_success": True}]
    result, world, state = await ran(plan(tool_policy=policy), two_turns)
    assert result.output == {"act": {"of": "Clock.now", "input": {}}}
    assert len(world.requests) == 1
    assert [request.keep for request in world.made] == [True, False]
    assert [one.because for one in state.trail if one.status == "exited"] == [
        "clock succeeded, which ends the agent"
    ]


async def test_returned_calls_are_data_and_nothing_runs() -> None:
    result, world, _ = await ran(plan(tool_calls="return"), two_turns)
    assert result.output["act"] == {  # type: ignore[index,call-overload]
        "text": "",
        "tool_calls": [
            {"tool": "search", "arguments": {"query": "rain"}},
            {"tool": "clock", "arguments": {}},
        ],
    }
    assert world.made == []


@pytest.mark.parametrize(
    ("schema", "data"),
    [(None, {"text": "hi", "tool_calls": []}), ({"type": "object"}, {"text": "hi"})],
)
async def test_an_answer_without_a_call_to_return_keeps_to_its_schema(
    schema: JsonValue, data: Json
) -> None:
    agent = plan(tool_calls="return", output_schema=schema)
    result, _, _ = await ran(agent, lambda _, __: answer("hi"))
    assert result.output == {"act": data}


async def test_an_unusable_answer_is_asked_for_again_in_the_same_conversation() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        if number == 1:
            return calls(("clock", {}))
        return unusable("no JSON") if number == 2 else AgentResponse(data={"n": 1})

    result, world, _ = await ran(plan(output_schema={"type": "object"}), model)
    assert result.output == {"act": {"n": 1}}
    reask = world.requests[2].reask
    assert reask is not None
    assert (reask.number, reask.problem, reask.answer) == (1, "no JSON", "")
    assert results(world.requests[2]) == []


async def test_calls_one_after_another_if_the_persona_says_so() -> None:
    _, world, _ = await ran(plan(parallel_tool_calls=False), two_turns)
    assert world.requests[0].tool_turn is not None
    assert not world.requests[0].tool_turn.parallel
    assert len(world.made) == 2


@pytest.mark.parametrize("whole", [True, False])
async def test_a_handoff_leaves_the_team_with_the_data_of_the_step(whole: bool) -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        assert request.tool_turn is not None
        assert request.tool_turn.offered[-1].name == "handoff_to_review"
        return calls(("handoff_to_review", {"reason": "it is written"}), text="Over to you.")

    later: Json = {"name": "later", "kind": "set", "values": {"a": 1}}
    check: Json = {"name": "check", "kind": "return", "value": "{{ teams.work.tasks.act.data }}"}
    of = tool_plan(
        TOOLS,
        {"actor": persona("clock", handoffs=["review"])},
        tasks=[later],
        teams={"review": {"id": "review", "steps": [check]}},
    )
    result, _, state = await (ran(of, model) if whole else stopped_everywhere(of, model))
    assert result.visits == {"work": 1, "review": 1}
    routes = [one for one in state.trail if one.kind == "route"]
    assert routes[0].next_team == "review"
    assert routes[0].because == 'handed over by work/act: "it is written"'
    assert state.main.latest["work"]["act"].data == {
        "text": "Over to you.",
        "handoff": "review",
        "reason": "it is written",
    }
    assert state.main.latest["work"]["later"].status == "skipped"


async def test_the_results_of_a_turn_that_ended_the_step_wait_for_the_next_visit() -> None:
    policy: list[JsonValue] = [{"tool": "clock", "exit_on_success": True}]
    again: Json = {
        "name": "again",
        "agent_type": "generic_tool_calling",
        "persona_key": "actor",
        "input": "more",
        "conversation": "talk",
    }
    of = tool_plan(
        TOOLS,
        {"actor": persona("clock", tool_policy=policy)},
        step={"conversation": "talk"},
        tasks=[again],
    )
    _, world, state = await ran(of, lambda _, number: calls(("clock", {"n": number})))
    assert [result.text for result in results(world.requests[1])] == [
        '{"of":"Clock.now","input":{"n":1}}'
    ]
    assert world.requests[1].conversation is not None
    assert world.requests[1].conversation.head == "0001.work.act.t1"
    assert state.conversations == {"talk": "0003.work.again.t1"}


@pytest.mark.parametrize("raised", [True, False])
async def test_the_results_of_a_turn_wait_when_the_next_turn_fails(raised: bool) -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        if number == 1 and request.task == "act":
            return calls(("clock", {}))
        if request.task == "again":
            return answer("done")
        if raised:
            raise CallFailed("ProviderRefused", "on purpose")
        return AgentResponse(success=False, error=AgentError(type="AnswerTruncated", message="x"))

    again: Json = {
        "name": "again",
        "agent_type": "generic_tool_calling",
        "persona_key": "actor",
        "input": "more",
        "conversation": "talk",
    }
    step: Json = {"conversation": "talk", "on_failure": "continue"}
    of = tool_plan(TOOLS, {"actor": persona("clock")}, step=step, tasks=[again])
    _, world, state = await ran(of, model)
    assert world.requests[2].task == "again"
    assert [result.text for result in results(world.requests[2])] == [
        '{"of":"Clock.now","input":{}}'
    ]
    assert state.unsent_results == {}


async def test_a_turn_of_an_agent_without_tools_stores_the_results_that_wait() -> None:
    policy: list[JsonValue] = [{"tool": "clock", "exit_on_success": True}]
    single: Json = {**MODEL, "prompts": {"user": "Go."}}
    say: Json = {
        "name": "say",
        "agent_type": "generic_single_shot",
        "persona_key": "speaker",
        "conversation": "talk",
    }
    of = tool_plan(
        TOOLS,
        {"actor": persona("clock", tool_policy=policy), "speaker": single},
        step={"conversation": "talk"},
        tasks=[say],
    )

    def model(request: AgentRequest, number: int) -> AgentResponse:
        return answer("well") if request.task == "say" else calls(("clock", {}))

    _, world, state = await ran(of, model)
    assert state.conversations == {"talk": "0003.work.say"}
    assert world.requests[1].conversation is not None
    assert [one.text for one in world.requests[1].conversation.left] == [
        '{"of":"Clock.now","input":{}}'
    ]
    assert state.unsent_results == {}


async def test_an_agent_that_a_budget_stops_leaves_a_result_for_each_call() -> None:
    again: Json = {
        "kind": "agent",
        "name": "again",
        "agent_type": "generic_tool_calling",
        "persona_key": "actor",
        "input": "more",
        "conversation": "talk",
    }
    budget: Json = {
        "kind": "tool_calls",
        "scope": "team",
        "name": "work",
        "limit": 1,
        "on_exceeded": "route",
        "next_team": "rest",
    }
    of = tool_plan(
        TOOLS,
        {"actor": persona("clock", "search", parallel_tool_calls=False)},
        step={"conversation": "talk"},
        teams={"rest": {"id": "rest", "steps": [again]}},
        budgets=[budget],
    )

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if request.task == "again":
            return answer("done")
        return calls(("clock", {"n": 1}), ("search", {"query": "rain"}))

    _, world, _ = await ran(of, model)
    assert [one.skill for one in world.made] == ["Clock.now"]
    assert [(one.text, one.failed) for one in results(world.requests[1])] == [
        ('{"of":"Clock.now","input":{"n":1}}', False),
        (LOST, True),
    ]


async def test_the_trail_tells_each_turn_and_call() -> None:
    _, _, state = await ran(plan(), two_turns)
    shown: list[Any] = [(one.step, one.status, one.because, one.event) for one in state.trail]
    assert shown[1:-1] == [
        ("act", "turn", "turn 1 calls search, clock", "routing"),
        ("act/search@1.1", "started", "", "tool_start"),
        ("act/search@1.1", "success", "", "tool_end"),
        ("act/clock@1.2", "started", "", "tool_start"),
        ("act/clock@1.2", "success", "", "tool_end"),
        ("act", "turn", "turn 2 answers", "routing"),
        ("act", "success", "", None),
    ]


async def test_usage_of_calls_adds_up_by_tool_and_not_by_turn() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        return calls(("clock", {"n": number})) if number < 4 else answer("done")

    _, _, state = await ran(plan(), model)
    assert {(one.task, one.tool, one.calls) for one in state.tallies.values()} == {
        ("work/act", "", 4),
        ("work/act/clock", "Clock.now", 3),
    }


async def test_an_equal_call_of_a_cached_tool_gets_the_first_result_until_an_effect() -> None:
    write: Json = {"effect": "idempotent", "timeout": 60, "retries": 0}
    tools: dict[str, Json] = {
        "search": function_tool(input_schema=QUERY, cache="run"),
        "save": {"skill": "Files.write", "terms": write, "input_schema": {"type": "object"}},
    }
    rain: tuple[str, Json] = ("search", {"query": "rain"})
    asked: list[tuple[tuple[str, Json], ...]] = [
        (rain,),
        (rain, ("search", {"query": "sun"})),
        (("save", {}),),
        (rain,),
    ]

    def model(request: AgentRequest, number: int) -> AgentResponse:
        return calls(*asked[number - 1]) if number <= len(asked) else answer("done")

    of = tool_plan(tools, {"actor": persona(*tools)})
    _, world, state = await ran(of, model)
    assert [request.key.rpartition("/")[2] for request in world.made] == [
        "search@1.1#1",
        "search@2.2#1",
        "save@3.1#1",
        "search@4.1#1",
    ]
    assert [one.step for one in state.trail if one.event == "cache_hit"] == ["act/search@2.1"]
    first, again = results(world.requests[1])[0], results(world.requests[2])[0]
    assert first == again
    _, parts, _ = await stopped_everywhere(of, model)
    assert len(parts.made) == 4


async def test_a_failure_is_not_cached() -> None:
    tools = {"search": function_tool(input_schema=QUERY, cache="run")}

    def model(request: AgentRequest, number: int) -> AgentResponse:
        return calls(("search", {"query": "rain"})) if number < 3 else answer("done")

    of = tool_plan(tools, {"actor": persona(*tools)})
    _, world, _ = await ran(of, model, lambda _: {"fails": "FunctionFailed"})
    assert len(world.made) == 2


TURNS = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    actor: {prompts: {user: Search.}, tools: [search], max_turns: 9}
tools: {search: {skill: Files.search}}
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: start, type: set, values: {most: 2}}
        - {name: act, persona_key: actor, max_turns: {value: "{{ most }}", maximum: 3}}
"""


@pytest.mark.parametrize("stopped", [False, True])
async def test_the_task_decides_over_the_turns_of_its_persona(stopped: bool) -> None:
    def search_for_ever(request: AgentRequest, number: int) -> AgentResponse:
        return calls(("search", {"pattern": f"rain {number}"})) if number < 3 else answer("enough")

    of = plan_of(TURNS)
    run_it = stopped_everywhere if stopped else ran
    result, world, _ = await run_it(of, search_for_ever)
    assert isinstance(result.output, dict)
    assert result.output["act"] == {"text": "enough"}
    assert (result.model_calls, result.function_calls) == (3, 2)
    assert world.calls[-1].endswith("act.t3")
