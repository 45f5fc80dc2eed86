"""What the hooks of an agent read at each point, and what follows when one cannot decide."""

from contextlib import suppress

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse, FunctionRequest
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.causes.agent_causes import HookDecided
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import (
    QUERY,
    READ,
    ModelScope,
    ModelWorld,
    answer,
    calls,
    function_tool,
    persona,
    tool_plan,
)

TOOLS: dict[str, Json] = {
    "search": function_tool(input_schema=QUERY),
    "clock": function_tool("Clock.now", input_schema={"type": "object"}),
}


def two_turns(request: AgentRequest, number: int) -> AgentResponse:
    if number == 1:
        return calls(("search", {"query": "rain"}), ("clock", {}))
    return answer("done")


async def ran(hook: Json) -> list[HookDecided]:
    """What the hook of an agent decided; its search fails, and its clock does not."""

    def function(request: FunctionRequest) -> JsonValue:
        if request.skill == "Check.it":
            return {"fails": "FunctionFailed", "message": "no network"}
        return {"fails": "Broken"} if request.skill == "Discovery.collect" else {"n": 1}

    plan = tool_plan(TOOLS, {"actor": persona(*TOOLS, hooks=[{"name": "h", **hook}])})
    state = fresh(plan, {"x": 1})
    with suppress(RunFailed):
        await run(ModelScope(plan, state, ModelWorld(two_turns, function), None))
    causes = [entry.cause for entry in state.trail]
    return [one for one in causes if isinstance(one, HookDecided)]


@pytest.mark.parametrize(
    ("point", "reads"),
    [
        ("before_turn", "agent == 'actor' and task == 'act' and turn == 1"),
        ("before_model_call", "model == 'scripted/demo' and inputs.input == 'it' and turn == 1"),
        ("after_model_call", "answer == none and calls[0].tool == 'search' and turn == 1"),
        ("after_model_call", "calls[0].arguments.query == 'rain' and calls[1].tool == 'clock'"),
        ("after_model_call", "answer.text == 'done' and calls == [] and turn == 2"),
        ("after_turn", "calls[0].failed and not calls[1].failed and answer == none"),
        ("after_turn", "calls[0].arguments.query == 'rain' and calls[1].tool == 'clock'"),
        ("after_turn", "answer.text == 'done' and calls == [] and turn == 2"),
        ("before_tool_call", "tool == 'search' and arguments.query == 'rain' and task == 'act'"),
        ("after_tool_call", "tool == 'search' and error.type == 'Broken' and result == none"),
        ("after_tool_call", "tool == 'clock' and error == none and result.n == 1"),
    ],
)
async def test_a_hook_reads_what_the_agent_does_at_its_point(point: str, reads: str) -> None:
    when: Json = {"expression": f"{{{{ {reads} }}}}"}
    decided = await ran({"on": point, "decide": "fail", "when": when})
    assert [(one.point, one.decision) for one in decided] == [(point, "fail")]


@pytest.mark.parametrize(
    ("given", "message"),
    [("x", "Check.it: no network"), ("{{ context.no.such }}", "context.no.such has no value")],
    ids=["its tool function fails", "its input cannot be filled"],
)
async def test_a_hook_that_cannot_decide_fails_and_says_why(given: str, message: str) -> None:
    hook: Json = {"on": "before_turn", "decide": "reject", "skill": "Check.it", "terms": READ}
    [decided] = await ran({**hook, "input": given})
    assert decided.decision == "fail"
    assert message in decided.message


@pytest.mark.parametrize(
    ("point", "value"),
    [
        ("before_turn", 7),
        ("before_turn", " "),
        ("before_model_call", ["x"]),
        ("before_tool_call", "x"),
        ("after_turn", {"a": 1}),
    ],
)
async def test_a_hook_whose_change_cannot_be_used_fails(point: str, value: JsonValue) -> None:
    [decided] = await ran({"on": point, "decide": "modify", "value": value})
    assert (decided.point, decided.decision) == (point, "fail")


async def output_of(plan_context: Json, value: str) -> TeamResult:
    """The result of a run whose output a hook replaces."""
    hook: Json = {"name": "h", "on": "after_run", "decide": "modify", "value": value}
    step: Json = {"agent_type": "generic_single_shot"}
    plan = tool_plan({}, {"actor": persona()}, step=step, hooks=[hook])
    state = fresh(plan, plan_context)
    return await run(
        ModelScope(plan, state, ModelWorld(lambda _, __: answer("done"), lambda _: None), None)
    )


async def test_a_hook_at_the_end_of_a_run_stands_in_no_visit_of_a_team() -> None:
    result = await output_of({}, "{{ run.team }} {{ run.visit }}")
    assert result.output == "work 0"


async def test_an_output_that_a_hook_changes_is_as_small_as_any() -> None:
    half = "x" * 1_100_000
    with pytest.raises(RunFailed, match="the output of the run"):
        await output_of({"big": half}, "{{ [context.big, context.big] }}")
