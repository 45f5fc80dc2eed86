"""What the approver of an agent sees, and what a plan that an agent runs leaves."""

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.interpreter import run
from tests.support.simulation.egress_runs import Ran, ran
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import MODEL, ModelScope, ModelWorld, answer, tool_plan

SINGLE = "generic_single_shot"
ORCHESTRATING = "generic_orchestrating"
NOTE: Json = {"kind": "set", "name": "note", "values": {"seen": "{{ input }}"}}


def plan(actor: Json, *after: Json, **step: JsonValue) -> Plan:
    kind = ORCHESTRATING if "execution_plan" in actor else SINGLE
    own: Json = {"agent_type": kind, "input": None, "on_failure": "continue", **step}
    return tool_plan({}, {"actor": {**MODEL, **actor}}, step=own, tasks=[*after])


def done(_: AgentRequest, __: int) -> AgentResponse:
    return answer("done")


async def approved(of: Plan) -> Ran:
    return await ran(of, done, lambda _: "approve", context={"topic": "rain", "other": 1})


@pytest.mark.parametrize(
    ("actor", "given", "shown"),
    [
        ({"prompts": {"user": "On {{ context.topic }}."}}, None, {"context": {"topic": "rain"}}),
        ({"prompts": {"user": "On {{ input }}."}}, "snow", "snow"),
        ({"prompts": {"user": "Write."}}, None, None),
        ({"execution_plan": [NOTE], "prompts": {"user": "On {{ context.topic }}."}}, None, None),
        ({"execution_plan": [NOTE]}, "snow", "snow"),
    ],
    ids=["values of the prompts", "input", "nothing", "a plan", "a plan with an input"],
)
@pytest.mark.parametrize("at", ["before", "after"])
async def test_an_approver_sees_what_an_agent_gets_before_it_starts(
    actor: Json, given: JsonValue, shown: JsonValue, at: str
) -> None:
    one = await approved(plan(actor, input=given, requires_approval=at))
    [request] = one.asked
    if at == "before":
        assert request.show == shown
    assert ("start" in request.prompt) is (at == "before")
    assert one.result.end == "completed"


@pytest.mark.parametrize("terms", [False, None])
async def test_an_agent_without_an_approval_asks_nobody(terms: bool | None) -> None:
    more: Json = {} if terms is None else {"requires_approval": terms}
    one = await approved(plan({"prompts": {"user": "Write."}}, **more))
    assert (one.asked, len(one.world.requests)) == ([], 1)


RETURN: Json = {"kind": "return", "name": "back", "value": "{{ input }}!"}
FAIL: Json = {"kind": "fail", "name": "no", "error": "Broken", "message": "no"}
SET: Json = {**NOTE, "output_variable": "noted"}


@pytest.mark.parametrize(
    ("steps", "data", "error"),
    [
        ([SET], {"seen": "it", "noted": {"seen": "it"}}, None),
        ([SET, RETURN, FAIL], "it!", None),
        ([SET, FAIL], {"seen": "it", "noted": {"seen": "it"}}, "Broken"),
    ],
    ids=["variables", "returned", "failed"],
)
async def test_the_plan_of_an_agent_gives_its_variables_or_what_it_returns(
    steps: list[JsonValue], data: JsonValue, error: str | None
) -> None:
    look: Json = {
        "kind": "return",
        "name": "look",
        "value": "{{ [tasks.act.data, tasks.act.error.type if tasks.act.error else none] }}",
    }
    one = await approved(plan({"execution_plan": steps}, look, input="it"))
    assert isinstance(one.result.output, dict)
    assert one.result.output["look"] == [data, error]
    assert [key for key in one.state.frames if "act" in key] == []


@pytest.mark.parametrize("steps", [[SET], [SET, RETURN], [SET, FAIL]])
async def test_the_plan_of_an_agent_leaves_no_frame_behind(steps: list[JsonValue]) -> None:
    after: Json = {"name": "after", "agent_type": SINGLE, "persona_key": "other"}
    of = tool_plan(
        {},
        {"actor": {**MODEL, "execution_plan": steps}, "other": {**MODEL, "prompts": {"user": "?"}}},
        step={"agent_type": ORCHESTRATING, "on_failure": "continue"},
        tasks=[after],
    )
    state, frames = fresh(of, {}), list[str]()

    def model(_: AgentRequest, __: int) -> AgentResponse:
        frames.extend(state.frames)
        return answer("done")

    await run(ModelScope(of, state, ModelWorld(model, lambda _: None), None))
    assert frames
    assert [key for key in frames if "act" in key] == []


async def test_the_approver_of_a_class_of_the_project_sees_its_input_alone() -> None:
    step: Json = {
        "name": "act",
        "agent_class": "package.Own",
        "requires_approval": "before",
    }
    teams: dict[str, Json] = {"work": {"id": "work", "steps": [step]}}
    one = await approved(tool_plan({}, {}, teams=teams))
    assert [request.show for request in one.asked] == [None]
    assert len(one.world.requests) == 1
