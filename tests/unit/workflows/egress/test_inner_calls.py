"""Tool functions that the own code of an agent calls: their labels and effects reach the run."""

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse, InnerCall, Spent
from coterie.dsl.egress.egress_rules import can_send_private_data
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.core.scope import CallFailed
from tests.support.simulation.egress_runs import LABELLED, ran
from tests.support.tool_agents import MODEL, answer, tool_plan

PRIVATE = InnerCall(skill="Files.read", effect="read", labels=("private",))
UNTRUSTED = InnerCall(skill="Web.page", effect="read", labels=("untrusted",))
WRITES = InnerCall(skill="Files.write", effect="idempotent")
ACT: Json = {
    "name": "act",
    "agent_type": "package.module:own",
    "persona_key": "own",
    "input": "it",
    "on_failure": "continue",
}
CLOCK: Json = {**LABELLED["clock"], "cache": "run"}


def call(name: str, tool: str) -> Json:
    return {
        "kind": "tool",
        "name": name,
        "tool": tool,
        "arguments": {"text": "all"},
        "on_failure": "continue",
    }


def plan(*steps: Json) -> Plan:
    team: Json = {"id": "work", "steps": list(steps)}
    own: Json = {**MODEL, "prompts": {"user": "{{ input }}"}}
    tools = {**LABELLED, "clock": CLOCK}
    return tool_plan(tools, {"own": own}, teams={"work": team}, egress_approval={})


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("fails", [False, True])
async def test_a_call_that_sends_asks_after_what_an_agents_own_code_read(
    everywhere: bool, fails: bool
) -> None:
    met = (PRIVATE, UNTRUSTED)

    def model(_: AgentRequest, __: int) -> AgentResponse:
        if fails:
            raise CallFailed("FunctionFailed", "on purpose", Spent(inner_calls=met))
        return answer("done").model_copy(update={"inner_calls": met})

    one = await ran(plan(ACT, call("out", "send")), model, everywhere=everywhere)
    (request,) = one.asked
    assert "Files.read in work/act" in request.prompt
    assert "Web.page in work/act" in request.prompt
    assert one.sent == []


async def test_an_agent_that_called_nothing_brings_nothing() -> None:
    one = await ran(plan(ACT, call("out", "send")), lambda _, __: answer("done"))
    assert one.asked == []
    assert one.sent == [{"text": "all"}]


@pytest.mark.parametrize(
    ("inner", "made"), [((WRITES,), 2), ((PRIVATE,), 1), ((PRIVATE, WRITES), 2), ((), 1)]
)
async def test_an_effect_of_an_agents_own_code_forgets_what_was_read(
    inner: tuple[InnerCall, ...], made: int
) -> None:
    def model(_: AgentRequest, __: int) -> AgentResponse:
        return answer("done").model_copy(update={"inner_calls": inner})

    one = await ran(plan(call("a", "clock"), ACT, call("b", "clock")), model)
    assert [call.skill for call in one.world.made] == ["Clock.now"] * made


@pytest.mark.parametrize(("agent_type", "asks"), [("own", True), ("generic_single_shot", False)])
def test_an_agent_with_its_own_code_may_bring_any_label(agent_type: str, asks: bool) -> None:
    team: Json = {"id": "work", "steps": [{**ACT, "agent_type": agent_type}, call("out", "send")]}
    own: Json = {**MODEL, "prompts": {"user": "{{ input }}"}}
    of = tool_plan({"send": LABELLED["send"]}, {"own": own}, teams={"work": team})
    assert can_send_private_data(of) is asks
