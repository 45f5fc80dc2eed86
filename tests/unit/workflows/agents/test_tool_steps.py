"""A `tool` step: its hooks, its labels, its cached results, and the work that others read."""

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.causes.agent_causes import HookDecided
from coterie.workflows.core.messages import SkipInput
from coterie.workflows.interpreter import run
from tests.support.simulation.egress_runs import LABELLED, ran
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import MODEL, ModelScope, ModelWorld, answer, tool_plan

ANY: Json = {"type": "object"}
WRITER: Json = {**MODEL, "prompts": {"user": "?"}}


def call(name: str, tool: str, **more: JsonValue) -> Json:
    arguments: Json = {"text": "all"}
    own: Json = {"kind": "tool", "name": name, "tool": tool, "arguments": arguments}
    return {**own, "on_failure": "continue", **more}


def plan(
    *steps: JsonValue,
    tools: dict[str, Json] | None = None,
    hooks: list[JsonValue] | None = None,
    egress_approval: Json | None = None,
) -> Plan:
    teams: dict[str, Json] = {"work": {"id": "work", "steps": list(steps)}}
    used = {**LABELLED, **(tools or {})}
    return tool_plan(
        used, {"writer": WRITER}, teams=teams, hooks=hooks or [], egress_approval=egress_approval
    )


def done(_: AgentRequest, __: int) -> AgentResponse:
    return answer("done")


def guard(decide: str, when: str, **more: JsonValue) -> Json:
    condition: Json = {"expression": when}
    return {"name": "h", "on": "before_tool_call", "decide": decide, "when": condition, **more}


async def test_a_hook_reads_a_tool_step_as_a_call_of_no_agent_and_answers_for_it() -> None:
    hook = guard("reject", "{{ agent == '' and turn == 0 and task == 'look' and tool == 'clock' }}")
    one = await ran(plan(call("look", "clock"), call("other", "clock"), hooks=[hook]), done)
    ended = one.state.main.latest["work"]
    assert ended["look"].error is not None
    assert ended["look"].error.type == "HookRejected"
    assert ended["other"].success
    assert len(one.world.made) == 1


@pytest.mark.parametrize("tool", ["clock", "helper"])
async def test_each_execution_of_a_tool_step_asks_its_hooks_again(tool: str) -> None:
    loop: Json = {
        "kind": "loop",
        "name": "each",
        "iterate_on": [1, 2],
        "loop_variable": "n",
        "body": [call("look", tool)],
    }
    hook = guard("modify", "{{ true }}", value={"text": "some"})
    helper: Json = {"agent": "writer", "input_schema": ANY}
    one = await ran(plan(loop, tools={"helper": helper}, hooks=[hook]), done)
    decided = [e.cause for e in one.state.trail if isinstance(e.cause, HookDecided)]
    assert len(decided) == 2
    assert one.state.progress.hooked_calls == {}


@pytest.mark.parametrize(("cache", "made"), [("run", 1), (None, 2)])
async def test_a_tool_step_gets_the_cached_result_of_an_equal_call(
    cache: str | None, made: int
) -> None:
    clock: Json = {**LABELLED["clock"], "cache": cache}
    one = await ran(plan(call("a", "clock"), call("b", "clock"), tools={"clock": clock}), done)
    assert len(one.world.made) == made


@pytest.mark.parametrize("cache", ["run", None])
@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_a_step_that_sends_data_asks_after_what_the_steps_before_have_read(
    cache: str | None, decision: str
) -> None:
    tools = {name: {**tool, "cache": cache} for name, tool in LABELLED.items()}
    steps = [call("one", "files"), call("two", "page"), call("out", "send")]
    of = plan(*steps, tools=tools, egress_approval={})
    one = await ran(of, done, lambda _: "approve" if decision == "approve" else "reject")
    assert len(one.asked) == 1
    assert one.sent == ([{"text": "all"}] if decision == "approve" else [])
    assert one.state.main.latest["work"]["out"].success is (decision == "approve")


@pytest.mark.parametrize("tool", ["send", "clock"])
async def test_one_approval_of_a_call_also_allows_it_to_send(tool: str) -> None:
    tools: dict[str, Json] = {tool: {**LABELLED[tool], "requires_approval": "before"}}
    steps = [call("one", "files"), call("two", "page"), call("out", tool)]
    one = await ran(plan(*steps, tools=tools, egress_approval={}), done, lambda _: "approve")
    assert len(one.asked) == 1
    assert one.state.main.latest["work"]["out"].success


@pytest.mark.parametrize("skipped", [True, False])
async def test_a_tool_reads_the_value_that_a_person_gave_instead_of_the_work_of_another(
    skipped: bool,
) -> None:
    tools: dict[str, Json] = {
        "finder": {"agent": "writer", "input_schema": ANY},
        "reader": {"agent": "writer", "input_schema": ANY, "reads": [{"from": "finder"}]},
    }
    of = plan(call("find", "finder"), call("read", "reader"), tools=tools)
    state = fresh(of, {})

    def model(request: AgentRequest, _: int) -> AgentResponse:
        if request.task == "finder" and skipped:
            state.skips["work/find"] = SkipInput(task="work/find", value="Rome", by="ann")
        return answer("Paris")

    world = ModelWorld(model, lambda _: None)
    await run(ModelScope(of, state, world, None))
    read = [request.notices for request in world.requests if request.task == "reader"]
    assert read == [(f"[From finder: {'Rome' if skipped else 'Paris'}]",)]
