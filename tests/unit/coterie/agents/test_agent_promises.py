"""What agents and their factory promise beside what other tests of this folder prove."""

import logging
from pathlib import Path
from typing import Any

import pytest

from coterie.agents import (
    AgentContext,
    AgentFactory,
    BaseAgent,
    InvalidTool,
    SharedMemoryGraph,
    orchestrator,
    subagent,
)
from coterie.dsl.model.tools.tool_contract import AgentTool
from coterie.dsl.values import Json
from coterie.workflows.agents.loop.offered_tools import loop_terms, offered_tools
from tests.support.programs.python_agents import (
    PlainAgent,
    PlannerAgent,
    around,
    asks,
    ran,
    results,
    says,
)
from tests.support.programs.weather_tools import forecast

OSLO: tuple[str, Json] = ("forecast", {"city": "Oslo"})
QUERY: Json = {
    "type": "object",
    "properties": {"query": {"type": "string", "minLength": 1}},
    "required": ["query"],
    "additionalProperties": False,
}
NOT_OSLO: Any = {
    "name": "not_oslo",
    "on": "before_tool_call",
    "tool": "forecast",
    "when": "{{ arguments.city == 'Oslo' }}",
    "decide": "reject",
    "message": "Not Oslo.",
}


@subagent(name="helper", description="Helps.")
class HelperAgent(PlainAgent):
    pass


@orchestrator
class ChiefAgent(PlainAgent):
    pass


def exposed(factory: AgentFactory, name: str, **defaults: Any) -> AgentFactory:
    return factory.register(
        name,
        PlainAgent,
        expose_as_subagent=True,
        subagent_description=f"{name} helps.",
        defaults=defaults,
    )


def test_as_orchestrator_alone_makes_an_agent_that_registers_others() -> None:
    factory = AgentFactory().register("planner", PlannerAgent)
    planner = factory.create("planner", as_orchestrator=True)
    planner.register_agent(HelperAgent())
    assert planner.tools == ("forecast", "helper")


@pytest.mark.parametrize("given", [{}, {"subagents": []}, {"as_orchestrator": False}])
def test_an_agent_of_no_orchestrator_class_registers_no_others(given: dict[str, Any]) -> None:
    planner = AgentFactory().register("planner", PlannerAgent).create("planner", **given)
    with pytest.raises(TypeError, match="PlannerAgent is not an orchestrator"):
        planner.register_agent(HelperAgent())


def test_what_register_says_of_an_unmarked_class_is_the_contract_of_its_tool() -> None:
    factory = AgentFactory().register("planner", PlainAgent)
    factory.register(
        "registered",
        PlainAgent,
        expose_as_subagent=True,
        subagent_name="helper",
        subagent_description="Helps with trips.",
        stateless=False,
        retries=2,
    )
    planner = factory.create("planner", subagents=["registered"])
    (called,) = planner.definition().subagents
    assert (called.name, called.description, called.stateless, called.retries) == (
        "helper",
        "Helps with trips.",
        False,
        2,
    )
    assert called.id == "registered", "the tool's name is not the agent's"
    tool = planner.durable(AgentContext(script=[])).plan.tools["helper"]
    assert isinstance(tool, AgentTool)
    assert (tool.description, tool.stateful, tool.retries) == ("Helps with trips.", True, 2)


def test_the_model_of_an_orchestrator_sees_the_schema_of_each_subagent_in_order() -> None:
    factory = AgentFactory().register("planner", PlannerAgent)
    exposed(exposed(factory, "zoe"), "amy")
    planner = factory.create("planner", subagents=["zoe", "amy"])
    plan = planner.durable(AgentContext(script=[])).plan
    terms = loop_terms(plan, plan.personas["planner"], 5, may_hand_over=True)
    own, *helpers = offered_tools(plan, terms)
    assert own.name == "forecast"
    assert [one.model_dump() for one in helpers] == [
        {"name": name, "description": f"{name} helps.", "input_schema": QUERY}
        for name in ("zoe", "amy")
    ]


async def test_an_agent_made_without_a_factory_has_its_tools_and_hooks(tmp_path: Path) -> None:
    agent = PlainAgent(agent_id="plain", tools=[forecast], hooks=[NOT_OSLO])
    state = await ran(
        agent,
        tmp_path,
        asks("plain", 1, OSLO, ("forecast", {"city": "Rome"})),
        says("plain", "ok", turn=2),
    )
    oslo, rome = results(state, "forecast")
    assert oslo is not None
    assert "Not Oslo." in oslo
    assert rome == "Rome: sunny"


async def test_a_subagent_executes_its_own_hooks_and_its_orchestrator_does_not(
    tmp_path: Path,
) -> None:
    factory = AgentFactory().register("free", PlannerAgent)
    hook = {**NOT_OSLO, "message": "Not {{ arguments.city }} for {{ task }} in turn {{ turn }}."}
    exposed(factory, "strict", tools=[forecast], hooks=[hook])
    free = factory.create("free", subagents=["strict"])
    state = await ran(
        free,
        tmp_path,
        asks("free", 1, OSLO),
        asks("free", 2, ("strict", {"query": "Oslo?"})),
        asks("strict", 1, OSLO),
        says("strict", "done", turn=2),
        says("free", "ok", turn=3),
    )
    found = {call.step: call.result for call in state.tool_history if call.tool == "forecast"}
    assert found["free/forecast@1.1"] == "Oslo: sunny"
    (below,) = [result for step, result in found.items() if step.startswith("free/strict@")]
    assert below is not None
    assert "Not Oslo for strict in turn 1." in below, "it sees the turns of its own agent"


async def test_a_subagent_that_fails_is_a_failed_call_in_the_history(tmp_path: Path) -> None:
    chief = ChiefAgent(agent_id="chief")
    chief.register_agent(HelperAgent(agent_id="helper"))
    ask = ("helper", {"query": "?"})
    state = await ran(
        chief,
        tmp_path,
        asks("chief", 1, ask),
        {"task": "helper", "visit": 1, "error": {"type": "FunctionFailed", "message": "no luck"}},
        asks("chief", 2, ask, contains="FunctionFailed: no luck"),
        says("helper", "better", visit=2),
        says("chief", "done", turn=3, contains="better"),
    )
    assert [(call.failed, call.result) for call in state.tool_history] == [
        (True, "FunctionFailed: no luck"),
        (False, '{"text":"better"}'),
    ]
    assert (state.status, state.text) == ("completed", "done"), state.error


def test_a_memory_graph_is_logged_and_given_to_the_agents_that_follow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    factory = AgentFactory().register("plain", PlainAgent)
    before = factory.create("plain")
    graph = SharedMemoryGraph().add_edge("a", "b").add_edge("b", "c")
    with caplog.at_level(logging.INFO, "coterie.agents"):
        assert factory.with_memory_graph(graph) is factory, "calls can be chained"
    assert caplog.messages == ["AgentFactory: memory graph attached (2 edges)"]
    assert before.memory_graph is None
    assert factory.create("plain").memory_graph is graph


def test_a_second_tool_of_the_same_name_is_refused() -> None:
    chief = ChiefAgent(agent_id="chief")
    chief.register_agent(HelperAgent(agent_id="first"))
    with pytest.raises(ValueError, match=r"^agent 'chief' already has a tool called 'helper'$"):
        chief.register_agent(HelperAgent(agent_id="second"))
    assert chief.tools == ("helper",)


@pytest.mark.parametrize(("name", "description"), [("", "Helps."), ("helper", "")])
def test_a_mark_without_a_name_or_a_description_is_refused(name: str, description: str) -> None:
    with pytest.raises(ValueError, match=r"^@subagent needs a name and a description: a model "):
        subagent(name, description)


def test_different_agents_of_one_run_need_different_ids(tmp_path: Path) -> None:
    chief = ChiefAgent(agent_id="chief")
    chief.register_agent(HelperAgent(agent_id="same"))
    other: type[BaseAgent] = subagent("other", "Helps otherwise.")(type("Other", (PlainAgent,), {}))
    chief.register_agent(other("You help otherwise.", agent_id="same"))
    with pytest.raises(InvalidTool) as raised:
        chief.to_yaml(around(tmp_path))
    assert str(raised.value) == (
        "two different agents are called 'same'; give one another agent_id"
    )
