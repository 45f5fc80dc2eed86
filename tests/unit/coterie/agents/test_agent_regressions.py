"""The mistakes of the first factory design stay corrected (11.1 to 11.7 of its review)."""

from pathlib import Path
from typing import Any

import pytest

from coterie.agents import AgentFactory, BaseAgent, SharedMemoryGraph, subagent
from tests.support.programs.python_agents import (
    PlainAgent,
    PlannerAgent,
    WeatherAgent,
    around,
    asks,
    ran,
    results,
    says,
)
from tests.support.programs.weather_tools import forecast


@subagent(name="weather", description="Weather from decorator", stateless=True)
class MarkedAgent(BaseAgent):
    system_message = "You know the weather."


def exposed(factory: AgentFactory, name: str = "plain") -> AgentFactory:
    return factory.register(
        name, PlainAgent, expose_as_subagent=True, subagent_description="Helps."
    )


def orchestrating_planner() -> BaseAgent:
    factory = exposed(AgentFactory()).register("planner", PlannerAgent)
    return factory.create("planner", as_orchestrator=True, subagents=["plain"])


async def test_an_orchestrator_keeps_the_system_message_tools_and_policy_of_its_class(
    tmp_path: Path,
) -> None:
    planner = orchestrating_planner()
    plan = planner.definition()
    assert plan.system_message == "You plan trips."
    assert planner.tools == ("forecast", "plain")
    state = await ran(
        planner,
        tmp_path,
        says("planner", "Too early.", turn=1, contains="You plan trips."),
        asks("planner", 2, ("forecast", {"city": "Rome"}), contains="You plan trips."),
        says("planner", "Go.", turn=3, contains="You plan trips."),
    )
    assert state.text == "Go.", state.error
    assert results(state, "forecast") == ["Rome: sunny"], "its policy demands a forecast"


def test_an_orchestrator_keeps_the_behaviour_of_its_class() -> None:
    planner = orchestrating_planner()
    assert isinstance(planner, PlannerAgent)
    assert planner.style() == "brief"


def test_no_class_is_changed_by_a_factory() -> None:
    before = (dict(vars(PlannerAgent)), dict(vars(PlainAgent)))
    orchestrating_planner()
    assert (dict(vars(PlannerAgent)), dict(vars(PlainAgent))) == before
    other = AgentFactory().register("plain", PlainAgent).create("plain")
    assert not hasattr(other, "subagent_name")
    assert not other._is_orchestrator  # pyright: ignore[reportPrivateUsage]


def test_a_factory_marks_subclasses_of_its_own() -> None:
    planner = orchestrating_planner()
    (plain,) = planner.all_subagents()
    assert type(plain).__name__ == "PlainAgentSubAgent"
    assert type(plain).__module__ == PlainAgent.__module__
    assert type(planner).__name__ == "PlannerAgentOrchestrator"


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"subagent_description": "Weather from factory"}, "subagent_description"),
        ({"subagent_name": "forecaster"}, "subagent_name"),
        ({"stateless": False}, "stateless"),
        ({"retries": 2}, "retries"),
    ],
)
def test_a_decorator_wins_and_the_conflict_is_reported(
    given: dict[str, object], reported: str
) -> None:
    factory = AgentFactory().register("planner", PlannerAgent)
    with pytest.warns(UserWarning, match=f"@subagent of MarkedAgent says {reported}="):
        factory.register("weather", MarkedAgent, expose_as_subagent=True, **given)  # type: ignore[arg-type]
    called = factory.create("planner", subagents=["weather"]).definition().subagents[0]
    assert (called.name, called.description, called.stateless, called.retries) == (
        "weather",
        "Weather from decorator",
        True,
        0,
    )


@subagent("memory", "Remembers.", stateless=False, retries=2)
class StatefulAgent(BaseAgent):
    system_message = "You remember."


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"stateless": True}, "stateless=False, which wins over stateless=True"),
        ({"subagent_stateless": True}, "stateless=False, which wins over stateless=True"),
        ({"retries": 0}, "retries=2, which wins over retries=0"),
        ({"subagent_description": ""}, "subagent_description='Remembers.', which wins"),
    ],
)
def test_a_conflict_is_reported_when_the_factory_says_what_is_the_default(
    given: dict[str, Any], reported: str
) -> None:
    factory = AgentFactory().register("planner", PlannerAgent)
    with pytest.warns(UserWarning, match=reported):
        factory.register("memory", StatefulAgent, expose_as_subagent=True, **given)
    called = factory.create("planner", subagents=["memory"]).definition().subagents[0]
    assert (called.stateless, called.retries) == (False, 2)


@pytest.mark.filterwarnings("error")
def test_equal_words_of_decorator_and_factory_are_no_conflict() -> None:
    AgentFactory().register(
        "weather",
        MarkedAgent,
        expose_as_subagent=True,
        subagent_name="weather",
        subagent_description="Weather from decorator",
        stateless=True,
        retries=0,
    )
    AgentFactory().register("memory", StatefulAgent, expose_as_subagent=True)


def test_a_missing_system_message_is_found_at_registration() -> None:
    with pytest.raises(ValueError, match="WeatherAgent needs `system_message`"):
        AgentFactory().register("weather", WeatherAgent)


class Open(BaseAgent):
    def __init__(self, **settings: Any) -> None:
        cool: Any = 0.1
        super().__init__(**{"temperature": cool, **settings})


class Optional(BaseAgent):
    def __init__(self, system_message: str | None = None, **settings: Any) -> None:
        super().__init__(system_message, tools=[forecast], **settings)


class Named(Optional):
    def __init__(self, *, system_message: str = "", **settings: Any) -> None:
        super().__init__(system_message=system_message, **settings)


class Closed(BaseAgent):
    def __init__(self) -> None:
        super().__init__()


@pytest.mark.parametrize("cls", [Open, Optional, Named, Closed])
def test_a_constructor_without_a_system_message_is_named_when_it_is_called(
    cls: type[BaseAgent],
) -> None:
    """Only a call shows what a constructor of the class's own passes on."""
    factory = AgentFactory().register("agent", cls)
    with pytest.raises(
        ValueError, match=f"Agent 'agent': .*{cls.__name__} has no `system_message`"
    ):
        factory.create("agent")
    if cls is not Closed:
        given = AgentFactory({"system_message": "You help."}).register("agent", cls)
        assert given.create("agent").system_message == "You help."


class Positional(BaseAgent):
    def __init__(self, **settings: Any) -> None:
        super().__init__("You help.", **settings)


class Below(Positional):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)


class Alternative(BaseAgent):
    def __init__(self, system_message: str | None = None, **settings: Any) -> None:
        super().__init__(system_message or "You help.", **settings)


class Default(BaseAgent):
    def __init__(self, system_message: str = "You help.", **settings: Any) -> None:
        super().__init__(system_message, **settings)


class Assigned(BaseAgent):
    def __init__(self, **settings: Any) -> None:
        self.system_message = "You help."
        super().__init__(**settings)


@pytest.mark.parametrize("cls", [Positional, Below, Alternative, Default, Assigned])
def test_a_constructor_with_a_system_message_of_its_own_is_accepted(cls: type[BaseAgent]) -> None:
    assert exposed_as(cls).create("agent").system_message == "You help."


def exposed_as(cls: type[BaseAgent]) -> AgentFactory:
    return AgentFactory().register(
        "agent", cls, expose_as_subagent=True, subagent_description="Helps."
    )


def test_an_edge_that_nobody_reads_along_is_reported(tmp_path: Path) -> None:
    graph = SharedMemoryGraph().add_edge("b", "plannr").add_edge("b", "planner")
    factory = exposed(AgentFactory().with_memory_graph(graph), "b").register("planner", PlainAgent)
    with pytest.warns(UserWarning, match="'plannr', which is not registered; did you mean 'plan"):
        planner = factory.create("planner", subagents=["b"])
    with pytest.warns(UserWarning, match="an edge to the orchestrator itself does nothing"):
        planner.to_yaml(around(tmp_path))


async def test_agents_are_nodes_of_a_memory_graph_and_read_along_its_edges(
    tmp_path: Path,
) -> None:
    graph = SharedMemoryGraph().add_edge("a", "b").add_edge("b", "c")
    factory = AgentFactory().with_memory_graph(graph).register("planner", PlainAgent)
    for name in "abc":
        exposed(factory, name)
    planner = factory.create("planner", subagents=["a", "b", "c"])
    assert all(agent.memory_graph is graph for agent in [planner, *planner.all_subagents()])
    assert [agent.agent_id for agent in planner.all_subagents()] == ["a", "b", "c"]
    state = await ran(
        planner,
        tmp_path,
        *(asks("planner", turn, (name, {"query": "?"})) for turn, name in enumerate("abc", 1)),
        says("a", "A-RESULT"),
        says("b", "B-RESULT", contains="[From a: A-RESULT]"),
        says("c", "C-RESULT", contains="[From b: B-RESULT]"),
        says("planner", "done", turn=4),
    )
    assert state.text == "done", state.error


def test_a_memory_graph_has_no_circle() -> None:
    graph = SharedMemoryGraph().add_edge("a", "b").add_edge("b", "c")
    with pytest.raises(ValueError, match="in a circle: "):
        graph.add_edge("c", "a")
    assert [edge[:2] for edge in graph] == [("a", "b"), ("b", "c")], "the refused edge is not kept"


def test_a_missing_source_of_the_memory_graph_is_reported(tmp_path: Path) -> None:
    factory = AgentFactory().with_memory_graph(SharedMemoryGraph().add_edge("a", "b"))
    planner = (
        exposed(factory, "b").register("planner", PlainAgent).create("planner", subagents=["b"])
    )
    with pytest.warns(UserWarning, match="'b' reads the work of 'a', which is no subagent"):
        planner.to_yaml(around(tmp_path))


async def test_an_orchestrator_keeps_the_hooks_of_its_class(tmp_path: Path) -> None:
    class StrictAgent(PlainAgent):
        def __init__(self, **settings: Any) -> None:
            hook: Any = {
                "name": "not_oslo",
                "on": "before_tool_call",
                "tool": "forecast",
                "when": "{{ arguments.city == 'Oslo' }}",
                "decide": "reject",
                "message": "Not Oslo.",
            }
            super().__init__(tools=[forecast], hooks=[hook], **settings)

    factory = AgentFactory().register("strict", StrictAgent)
    factory.register(
        "free",
        PlainAgent,
        expose_as_subagent=True,
        subagent_description="Helps.",
        defaults={"tools": [forecast]},
    )
    strict = factory.create("strict", subagents=["free"])
    oslo = ("forecast", {"city": "Oslo"})
    state = await ran(
        strict,
        tmp_path,
        asks("strict", 1, oslo, ("free", {"query": "Oslo?"})),
        asks("free", 1, oslo),
        says("free", "done", turn=2),
        says("strict", "ok", turn=2),
    )
    own, others = results(state, "forecast")
    assert own is not None
    assert "Not Oslo." in own
    assert others == "Oslo: sunny", "a hook sees the calls of its own agent only"
