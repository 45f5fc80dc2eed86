"""What an agent's own code may call, and the plan of an orchestrating agent in a process."""

import json

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.agents.agent_base import AgentServices, BaseAgent, PlanCall
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.contracts import AgentResponse, FailureType, FunctionRequest, FunctionResult
from coterie.activities.factory import AgentFactory
from coterie.dsl.model.steps import FunctionStep
from coterie.dsl.values import Json
from tests.support.agents import RecordingModel, request, turn


class Skilled(BaseAgent):
    """Calls a tool function with each item of its input."""

    async def process(self, context: Json) -> AgentResponse:
        items = context["input"]
        assert isinstance(items, list)
        return AgentResponse(
            success=True, data=[await self.call_function("Files.read", item) for item in items]
        )


async def test_a_function_call_carries_the_agents_lineage_also_when_it_is_tried_again() -> None:
    called: list[FunctionRequest] = []

    async def call_function(wanted: FunctionRequest) -> FunctionResult:
        called.append(wanted)
        return FunctionResult(data={"read": wanted.input})

    activities = AgentActivities(
        RecordingModel(), agent_types={"skilled": Skilled}, call_function=call_function
    )
    wanted = request({"input": ["a.py", "b.py"]}, changes={"agent_type": "skilled"})
    wanted = wanted.model_copy(update={"execution": "first"})
    response = await turn(activities, wanted)
    await turn(activities, wanted)
    await turn(activities, wanted.model_copy(update={"execution": "later"}))
    assert response.data == [{"read": "a.py"}, {"read": "b.py"}]
    assert [(call.skill, call.input) for call in called[:2]] == [
        ("Files.read", "a.py"),
        ("Files.read", "b.py"),
    ]
    first, second, *again = [call.key for call in called]
    assert first.startswith("test/first/test/Files.read:")  # run, execution and activity
    assert first != second
    assert again[:2] == [first, second]
    assert again[2:] == [key.replace("/first/", "/later/") for key in (first, second)]


async def test_an_agent_without_functions_says_so() -> None:
    activities = AgentActivities(RecordingModel(), agent_types={"skilled": Skilled})
    with pytest.raises(ApplicationError, match="'design' has no tool functions to call") as caught:
        await turn(activities, request({"input": [1]}, changes={"agent_type": "skilled"}))
    assert caught.value.type == FailureType.AGENT_REFUSED


PLAN: Json = {
    "provider": "anthropic",
    "model": "model-1",
    "execution_plan": [{"kind": "skill", "name": "read", "skill": "Files.read", "input": "a.py"}],
}


def orchestrating(persona: Json, services: AgentServices | None = None) -> BaseAgent:
    config: Json = {"llm_config": {"personas": {"coder": persona}}}
    task: Json = {"name": "code", "agent_type": "generic_orchestrating", "persona_key": "coder"}
    return AgentFactory(config, services=services).create_agent(task)


async def test_an_orchestrating_agent_hands_its_plan_to_the_runner() -> None:
    calls: list[PlanCall] = []

    async def run_plan(call: PlanCall) -> AgentResponse:
        calls.append(call)
        return AgentResponse(success=True, data={"done": True})

    agent = orchestrating(PLAN, AgentServices(run_plan=run_plan, key="run/coder/code#1.0"))
    response = await agent.process({"context": {"a": 1}})
    assert response == AgentResponse(success=True, data={"done": True})
    step = FunctionStep(kind="skill", name="read", skill="Files.read", input="a.py")
    assert calls == [
        PlanCall(name="code", steps=(step,), inputs={"context": {"a": 1}}, key="run/coder/code#1.0")
    ]


async def test_a_plan_without_a_runner_is_refused() -> None:
    with pytest.raises(AgentRefused, match="'code' has an execution plan but no plan runner"):
        await orchestrating(PLAN).process({})


async def test_a_plan_that_was_not_compiled_is_refused_by_its_step() -> None:
    async def run_plan(call: PlanCall) -> AgentResponse:
        raise AssertionError(json.dumps(call.inputs))

    raw: Json = {**PLAN, "execution_plan": [{"name": "read", "skill": "Files.read"}]}
    agent = orchestrating(raw, AgentServices(run_plan=run_plan))
    with pytest.raises(AgentRefused, match="plan of agent 'code' is not compiled, at step 0"):
        await agent.process({})


async def test_an_agent_without_model_providers_says_so() -> None:
    config: Json = {"llm_config": {"personas": {"p": {"provider": "x", "model": "m"}}}}
    task: Json = {"name": "ask", "agent_type": "generic_single_shot", "persona_key": "p"}
    with pytest.raises(AgentRefused, match="'ask' has no model providers"):
        await AgentFactory(config).create_agent(task).process({"input": "Go."})
