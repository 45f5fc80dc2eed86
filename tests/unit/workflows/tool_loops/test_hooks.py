"""Hooks of agents and runs, in one process: what runs, what stops, and what the trail says."""

from collections.abc import Callable

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse, FunctionRequest
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.causes.agent_causes import HookDecided
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import carried, fresh
from tests.support.tool_agents import (
    MODEL,
    QUERY,
    READ,
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
    "again": function_tool(input_schema=QUERY, cache="run"),
    "act": {"skill": "Act.once", "terms": {**READ, "effect": "once"}, "input_schema": QUERY},
}
Model = Callable[[AgentRequest, int], AgentResponse]


def on(point: str, decide: str, **keys: JsonValue) -> Json:
    """A hook called `h`; `when` is an expression."""
    when = keys.pop("when", None)
    condition: Json = {} if when is None else {"when": {"expression": when}}
    return {"name": "h", "on": point, "decide": decide, **condition, **keys}


def plan(*hooks: Json, of_run: bool = False, **of_persona: JsonValue) -> Plan:
    """The plan of an agent with all tools and these hooks, of its persona or of the plan."""
    asked: list[JsonValue] = [*hooks]
    if of_run:
        return tool_plan(TOOLS, {"actor": persona(*TOOLS, **of_persona)}, hooks=asked)
    return tool_plan(TOOLS, {"actor": persona(*TOOLS, hooks=asked, **of_persona)})


def single(*hooks: Json, **of_persona: JsonValue) -> Plan:
    """The plan of an agent that uses no tools."""
    actor: Json = {**MODEL, "prompts": {"user": "Do it."}, "hooks": list(hooks), **of_persona}
    return tool_plan({}, {"actor": actor}, step={"agent_type": "generic_single_shot"})


def found(request: FunctionRequest) -> JsonValue:
    return {"of": request.skill, "input": request.input}


async def ran(
    of: Plan,
    model: Model,
    function: Callable[[FunctionRequest], JsonValue] = found,
    context: Json | None = None,
) -> tuple[TeamResult, ModelWorld, RunState]:
    """The run from beginning to end, also if it fails."""
    world, state = ModelWorld(model, function), fresh(of, context or {})
    try:
        result = await run(ModelScope(of, state, world, None))
    except RunFailed as failed:
        result = failed.result
    return result, world, state


async def stopped_everywhere(
    of: Plan, model: Model, function: Callable[[FunctionRequest], JsonValue] = found
) -> tuple[TeamResult, ModelWorld, RunState]:
    """The run, continued as new at every second checkpoint."""
    world, state = ModelWorld(model, function), fresh(of, {})
    for _ in range(1000):
        try:
            return await run(ModelScope(of, state, world, 1)), world, state
        except Interrupted:
            state = carried(state)
        except RunFailed as failed:
            return failed.result, world, state
    raise AssertionError("the run never ended")


def two_turns(request: AgentRequest, number: int) -> AgentResponse:
    if number == 1:
        return calls(("search", {"query": "rain"}), ("clock", {}))
    return answer("done")


def decided(state: RunState) -> list[tuple[str, str, str]]:
    """`(hook, decision, tool)` of every entry of the trail about hooks."""
    causes = [entry.cause for entry in state.trail]
    return [(c.hook, c.decision, c.tool) for c in causes if isinstance(c, HookDecided)]


def texts(request: AgentRequest) -> list[str]:
    assert request.tool_turn is not None
    return [result.text for result in request.tool_turn.results]


async def test_an_expression_that_lets_pass_costs_no_call_and_no_entry() -> None:
    hooks = [on(point, "fail", when="{{ turn > 9 }}") for point in ("before_turn", "after_turn")]
    hooks += [on(point, "fail", when="{{ tool == 'x' }}") for point in ("before_tool_call",)]
    _, bare, without = await ran(plan(), two_turns)
    _, world, state = await ran(plan(*hooks), two_turns)
    assert world.calls == bare.calls
    assert state.trail_digest == without.trail_digest


async def test_a_rejected_call_is_not_made_and_the_model_reads_why() -> None:
    hook = on("before_tool_call", "reject", tool="sea*", message="not {{ arguments.query }}")
    result, world, state = await ran(plan(hook), two_turns)
    assert [request.skill for request in world.made] == ["Clock.now"]
    assert texts(world.requests[1])[0] == "HookRejected: the hook 'h' decided to reject: not rain"
    assert result.end == "completed"
    assert decided(state) == [("h", "reject", "search")]


@pytest.mark.parametrize("point", ["before_tool_call", "after_tool_call"])
async def test_a_failed_call_stops_the_agent(point: str) -> None:
    result, world, state = await ran(plan(on(point, "fail", tool="search")), two_turns)
    assert result.error is not None
    assert "HookFailed" in result.error.message
    assert len(world.requests) == 1
    assert decided(state) == [("h", "fail", "search")]


async def test_a_failure_leaves_out_the_calls_that_have_not_begun() -> None:
    hook = on("before_tool_call", "fail", tool="search")
    of = plan(hook, parallel_tool_calls=False)
    _, world, _ = await ran(of, two_turns)
    assert world.made == []


async def test_changed_arguments_run_and_the_result_says_so() -> None:
    hook = on("before_tool_call", "modify", tool="search", value={"query": "sun"})
    _, world, _ = await ran(plan(hook), two_turns)
    assert world.made[0].input == {"query": "sun"}
    assert texts(world.requests[1])[0].startswith(
        '[The hook h changed the arguments: query: "rain" -> "sun"]\n'
    )


async def test_changed_arguments_pass_the_schema_again() -> None:
    hook = on("before_tool_call", "modify", tool="search", value={"query": 1})
    _, world, _ = await ran(plan(hook), two_turns)
    assert [request.skill for request in world.made] == ["Clock.now"]
    assert texts(world.requests[1])[0].startswith("InvalidArguments: the hook 'h' changed")


async def test_a_changed_result_is_what_the_model_reads() -> None:
    hook = on("after_tool_call", "modify", tool="search", value={"seen": "{{ result.of }}"})
    _, world, _ = await ran(plan(hook), two_turns)
    assert texts(world.requests[1])[0] == '{"seen":"Discovery.collect"}'
    assert [request.keep for request in world.made] == [False, True]


async def test_a_rejected_result_does_not_reach_the_model() -> None:
    hook = on("after_tool_call", "reject", tool="search", message="nothing for you")
    _, world, _ = await ran(plan(hook), two_turns)
    assert texts(world.requests[1])[0].startswith("HookRejected: ")
    assert len(world.made) == 2


async def test_a_retried_call_is_made_again_and_not_for_ever() -> None:
    hook = on(
        "after_tool_call", "retry", tool="again", max_retries=2, when="{{ result.input.query }}"
    )

    def model(request: AgentRequest, number: int) -> AgentResponse:
        return calls(("again", {"query": "x"})) if number == 1 else answer("done")

    result, world, state = await ran(plan(hook), model)
    assert len(world.made) == 3  # not the result that `cache: run` keeps
    assert decided(state) == [
        ("h", "retry", "again"),
        ("h", "retry", "again"),
        ("h", "fail", "again"),
    ]
    assert result.error is not None
    assert "2 retries did not help" in result.error.message


async def test_a_retry_never_repeats_an_effect() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        return calls(("act", {"query": "x"})) if number == 1 else answer("done")

    hook = on("after_tool_call", "{{ 'retry' }}", tool="act")
    result, world, _ = await ran(plan(hook), model)
    assert len(world.made) == 1
    assert result.error is not None
    assert "would repeat the effect" in result.error.message


async def test_a_retried_answer_is_asked_for_again_with_the_reason() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        return answer("no" if request.reask is None else "long enough")

    hook = on("after_model_call", "retry", when="{{ answer.text | length < 5 }}", message="longer")
    result, world, _ = await ran(plan(hook, max_reasks=0), model)
    assert result.output == {"act": {"text": "long enough"}}
    reask = world.requests[1].reask
    assert reask is not None
    assert reask.problem == "the hook 'h' decided to retry: longer"


async def test_retries_of_hooks_leave_the_reasks_of_the_persona() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        return (answer("no"), unusable("no JSON"), answer("long enough"))[number - 1]

    hook = on("after_model_call", "retry", when="{{ answer.text | length < 5 }}")
    result, world, _ = await ran(plan(hook, max_reasks=1), model)
    assert result.end == "completed"
    assert len(world.requests) == 3


async def test_a_turn_that_is_sent_back_makes_none_of_its_calls() -> None:
    hook = on("after_model_call", "retry", when="{{ calls | length > 1 }}", message="one by one")

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if number == 2:
            return calls(("clock", {}))
        return two_turns(request, number)

    result, world, _ = await ran(plan(hook), model)
    assert [request.skill for request in world.made] == ["Clock.now"]
    assert (
        texts(world.requests[1]) == ["not executed: the hook 'h' decided to retry: one by one"] * 2
    )
    assert result.end == "completed"


@pytest.mark.parametrize("point", ["before_turn", "before_model_call"])
async def test_a_note_reaches_the_model(point: str) -> None:
    hook = on(point, "modify", when="{{ turn == 2 }}", value="Turn {{ turn }} of {{ task }}.")
    _, world, _ = await ran(plan(hook), two_turns)
    assert [request.notices for request in world.requests] == [(), ("Turn 2 of act.",)]


@pytest.mark.parametrize("of", [plan, single])
@pytest.mark.parametrize("point", ["before_turn", "before_model_call"])
@pytest.mark.parametrize(("decide", "type"), [("fail", "HookFailed"), ("reject", "HookRejected")])
async def test_a_stop_before_the_model_asks_no_model(
    of: Callable[..., Plan], point: str, decide: str, type: str
) -> None:
    result, world, state = await ran(of(on(point, decide)), two_turns)
    assert world.calls == []
    assert result.error is not None
    assert type in result.error.message
    assert decided(state) == [("h", decide, "")]


@pytest.mark.parametrize("of", [plan, single])
@pytest.mark.parametrize("point", ["after_turn", "after_model_call"])
async def test_a_stop_after_an_answer_fails_the_step(of: Callable[..., Plan], point: str) -> None:
    hook = on(point, "reject", when="{{ answer == {'text': 'done'} }}")
    result, _, _ = await ran(of(hook), lambda request, number: answer("done"))
    assert result.error is not None
    assert "HookRejected" in result.error.message


async def test_a_turn_is_asked_about_once_with_the_calls_that_it_made() -> None:
    hook = on(
        "after_turn",
        "{{ 'fail' if calls and (calls | map(attribute='tool') | list) != ['search', 'clock'] "
        "else 'continue' }}",
    )
    for runs in (ran, stopped_everywhere):
        result, _, state = await runs(plan(hook), two_turns)
        assert result.end == "completed"
        assert decided(state) == [("h", "continue", "")] * 2


async def test_an_answer_may_be_changed_and_must_still_match_the_schema() -> None:
    schema: Json = {"type": "object", "properties": {"n": {"type": "integer"}}}
    cases: list[tuple[Json, str | None]] = [({"n": 2}, None), ({"n": "two"}, "HookFailed")]
    for value, error in cases:
        hook = on("after_model_call", "modify", value=value)
        of = single(hook, output_schema=schema)
        result, _, _ = await ran(of, lambda request, number: AgentResponse(data={"n": 1}))
        if error is None:
            assert result.output == {"act": {"n": 2}}
        else:
            assert result.error is not None
            assert error in result.error.message


async def test_a_single_answer_is_asked_for_again_with_what_was_said() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        return answer("no" if request.reask is None else "long enough")

    hook = on("after_model_call", "retry", when="{{ answer.text | length < 5 }}")
    result, world, _ = await ran(single(hook), model)
    assert result.output == {"act": {"text": "long enough"}}
    assert world.requests[1].reask is not None
    assert world.requests[1].reask.answer == "no"


async def test_the_function_of_a_hook_is_one_call_only_where_its_condition_holds() -> None:
    hook = on(
        "before_tool_call",
        "reject",
        when="{{ tool == 'search' }}",
        skill="Guard.check",
        terms=READ,
        input={"text": "{{ arguments.query }}"},
        message="{{ check.of }}",
    )
    _, world, _ = await ran(plan(hook), two_turns)
    assert [request.skill for request in world.made if request.skill != "Clock.now"] == [
        "Guard.check"
    ]
    assert world.made[0].input == {"text": "rain"}
    assert texts(world.requests[1])[0].endswith("decided to reject: Guard.check")


async def test_a_condition_over_the_check_decides_after_the_function() -> None:
    def function(request: FunctionRequest) -> JsonValue:
        return {"bad": request.skill == "Guard.check"}

    hook = on("before_turn", "fail", when="{{ check.bad }}", skill="Guard.check", terms=READ)
    result, world, _ = await ran(plan(hook), two_turns, function)
    assert world.requests == []
    assert result.error is not None


async def test_a_hook_whose_condition_breaks_fails_closed() -> None:
    hook = on("before_tool_call", "continue", when="{{ arguments.branch == 'main' }}")
    result, world, _ = await ran(plan(hook), two_turns)
    assert world.made == []
    assert result.error is not None
    assert "it cannot decide" in result.error.message


async def test_continue_keeps_the_later_hooks_from_deciding() -> None:
    allow = on("before_tool_call", "continue", tool="clock")
    hooks = [allow, on("before_tool_call", "reject")]
    _, world, _ = await ran(plan(*hooks), two_turns)
    assert [request.skill for request in world.made] == ["Clock.now"]


async def test_the_hooks_of_the_document_come_before_those_of_the_persona() -> None:
    of = tool_plan(
        TOOLS,
        {"actor": persona(*TOOLS, hooks=[on("before_turn", "fail")])},
        hooks=[{**on("before_turn", "reject"), "name": "first"}],
    )
    _, _, state = await ran(of, two_turns)
    assert decided(state) == [("first", "reject", "")]


async def test_a_hook_of_the_document_also_stops_a_tool_step() -> None:
    step: Json = {"name": "look", "kind": "tool", "tool": "search", "arguments": {"query": "x"}}
    of = tool_plan(TOOLS, {}, hooks=[on("before_tool_call", "reject", tool="search")])
    work = of.teams["work"].model_dump(mode="json", by_alias=True, exclude_defaults=True)
    of = Plan.model_validate(
        {**of.model_dump(mode="json", by_alias=True), "teams": {"work": {**work, "steps": [step]}}}
    )
    result, world, _ = await ran(of, two_turns)
    assert world.made == []
    assert result.error is not None
    assert "HookRejected" in result.error.message


async def test_the_run_begins_with_the_context_that_hooks_change() -> None:
    hook = on("before_run", "modify", value={"goal": "{{ context.goal }}!"})
    for runs in (ran, stopped_everywhere):
        if runs is ran:
            result, _, _ = await ran(plan(hook, of_run=True), two_turns, context={"goal": "x"})
            assert result.context == {"goal": "x!"}
        else:
            once = on("before_run", "modify", value={"n": {"increment": 1}})
            result, _, _ = await runs(plan(once, of_run=True), two_turns)
            assert result.context == {"n": 1}


@pytest.mark.parametrize(("decide", "type"), [("fail", "HookFailed"), ("reject", "HookRejected")])
async def test_a_run_that_a_hook_stops_does_nothing(decide: str, type: str) -> None:
    result, world, _ = await ran(plan(on("before_run", decide), of_run=True), two_turns)
    assert (result.end, world.calls) == ("failed", [])
    assert result.error is not None
    assert result.error.type == type


async def test_the_output_is_what_hooks_let_pass() -> None:
    hook = on("after_run", "modify", value={"said": "{{ output.act.text }}"})
    result, _, _ = await ran(plan(hook, of_run=True), two_turns)
    assert result.output == {"said": "done"}
    result, _, _ = await ran(plan(on("after_run", "reject"), of_run=True), two_turns)
    assert result.error is not None
    assert result.error.type == "HookRejected"
