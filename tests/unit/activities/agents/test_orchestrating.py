"""An agent with an execution plan hands the plan to its runner, under a key that stays the same."""

import pytest

from coterie.activities.agents.agent_base import AgentServices, PlanCall
from coterie.activities.agents.orchestrator import GenericOrchestratingAgent
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.contracts import AgentResponse
from coterie.dsl.model.steps import SetStep
from coterie.dsl.values import Json, JsonValue

STEP: Json = {"name": "one", "kind": "set", "values": {"a": 1}}


def agent(plan: JsonValue) -> GenericOrchestratingAgent:
    return GenericOrchestratingAgent({"execution_plan": plan}, "planner", {})


@pytest.mark.parametrize("plan", [None, [], "one", {"name": "one"}])
def test_a_persona_without_a_plan_is_refused(plan: JsonValue) -> None:
    with pytest.raises(AgentRefused, match="its persona has no `execution_plan`"):
        agent(plan)


@pytest.mark.parametrize(("key", "used"), [("run/act#1", "run/act#1"), ("", "planner")])
async def test_the_runner_gets_the_steps_the_values_and_a_key(key: str, used: str) -> None:
    calls: list[PlanCall] = []

    async def run(call: PlanCall) -> AgentResponse:
        calls.append(call)
        return AgentResponse(data="done")

    planner = agent([STEP])
    planner.attach(AgentServices(run_plan=run, key=key))
    assert await planner.process({"input": 1}) == AgentResponse(data="done")
    steps = (SetStep(name="one", kind="set", values={"a": 1}),)
    assert calls == [PlanCall("planner", steps, {"input": 1}, used)]


async def test_a_plan_that_is_not_compiled_names_its_first_step_that_is_wrong() -> None:
    async def run(call: PlanCall) -> AgentResponse:
        raise AssertionError

    planner = agent([STEP, {**STEP, "kind": "dance"}])
    planner.attach(AgentServices(run_plan=run))
    with pytest.raises(AgentRefused, match=r"is not compiled, at step 1: "):
        await planner.process({})
