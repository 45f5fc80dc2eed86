"""What the factory accepts, refuses and says: signatures, messages, precedence."""

import logging
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest

from coterie.activities.agents import agent_base
from coterie.agents import (
    AgentFactory,
    AgentSpec,
    BaseAgent,
    SharedMemoryGraph,
    orchestrator,
    subagent,
)
from tests.support.programs.python_agents import PlainAgent, PlannerAgent, WeatherAgent, around


@subagent(name="clock", description="Tells the time.", stateless=False)
class ClockAgent(BaseAgent):
    system_message = "You tell the time."


@orchestrator
class ChiefAgent(BaseAgent):
    system_message = "You lead."


def weather_factory() -> AgentFactory:
    factory = AgentFactory({"system_message": "You know the weather."})
    return factory.register(
        name="weather_agent",
        cls=WeatherAgent,
        expose_as_subagent=True,
        subagent_description="Weather expert",
    ).register(name="planner", cls=PlannerAgent)


def test_one_registry_gives_agents_and_orchestrators() -> None:
    factory = weather_factory()
    weather = factory.create(name="weather_agent")
    planner = factory.create(name="planner", as_orchestrator=True, subagents=["weather_agent"])
    assert isinstance(weather, WeatherAgent)
    assert isinstance(planner, PlannerAgent)
    assert all(isinstance(one, agent_base.BaseAgent) for one in (weather, planner))
    assert (weather.agent_id, planner.agent_id) == ("weather_agent", "planner")
    assert planner.tools == ("forecast", "weather_agent")


def test_subagents_make_an_orchestrator_without_saying_so() -> None:
    planner = weather_factory().create("planner", subagents=["weather_agent"])
    assert type(planner).__name__ == "PlannerAgentOrchestrator"


def test_the_constructor_of_an_agent_takes_the_arguments_of_the_design() -> None:
    keyword = Parameter.KEYWORD_ONLY
    kinds = {name: one.kind for name, one in signature(AgentFactory.register).parameters.items()}
    assert [kinds[name] for name in ("name", "cls")] == [Parameter.POSITIONAL_OR_KEYWORD] * 2
    options = (
        "expose_as_subagent",
        "subagent_name",
        "subagent_description",
        "stateless",
        "defaults",
    )
    assert {kinds[name] for name in options} == {keyword}
    created = signature(AgentFactory.create).parameters
    assert {created[name].kind for name in ("as_orchestrator", "subagents")} == {keyword}
    assert created["overrides"].kind is Parameter.VAR_KEYWORD


def test_a_specification_has_the_fields_and_defaults_of_the_design_and_never_changes() -> None:
    spec = AgentSpec(PlainAgent)
    defaults = {one.name: getattr(spec, one.name) for one in fields(spec)}
    assert defaults == {
        "cls": PlainAgent,
        "expose_as_subagent": False,
        "subagent_name": None,
        "subagent_description": None,
        "stateless": True,
        "defaults": {},
        "subagents": (),
        "retries": 0,
    }
    with pytest.raises(FrozenInstanceError):
        spec.stateless = False  # type: ignore[misc]
    with pytest.raises(TypeError, match="does not support item assignment"):
        spec.defaults["model"] = "other"  # type: ignore[index]


@pytest.mark.parametrize(
    ("cls", "is_subagent", "is_orchestrator"),
    [(PlainAgent, False, False), (ClockAgent, True, False), (ChiefAgent, False, True)],
)
def test_a_specification_knows_how_its_class_is_marked(
    cls: type[BaseAgent], is_subagent: bool, is_orchestrator: bool
) -> None:
    spec = AgentSpec(cls)
    assert spec.is_already_subagent() is is_subagent
    assert spec.is_already_orchestrator() is is_orchestrator


def test_a_registered_class_is_found_by_its_name() -> None:
    factory = weather_factory()
    assert factory.get_registered_names() == ["weather_agent", "planner"]
    assert factory.is_registered("planner")
    assert not factory.is_registered("plan")
    spec = factory.get_spec("weather_agent")
    assert spec is not None
    assert (spec.cls, spec.subagent_name, spec.subagent_description) == (
        WeatherAgent,
        "weather_agent",
        "Weather expert",
    )
    assert factory.get_spec("nobody") is None


def test_a_registration_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "coterie.agents"):
        AgentFactory().register("planner", PlannerAgent)
    assert caplog.messages == ["AgentFactory: registered 'planner' (PlannerAgent)"]


MESSAGES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a subagent without a description": (
        lambda: AgentFactory().register("plain", PlainAgent, expose_as_subagent=True),
        ValueError,
        "Agent 'plain': expose_as_subagent=True requires subagent_description because class "
        "PlainAgent is not decorated with @subagent",
    ),
    "an unknown agent": (
        lambda: weather_factory().create("weather"),
        ValueError,
        "Agent 'weather' not registered. Available: ['weather_agent', 'planner']",
    ),
    "an unknown subagent": (
        lambda: weather_factory().create("planner", subagents=["nobody"]),
        ValueError,
        "Subagent 'nobody' not registered",
    ),
    "a subagent that is not exposed": (
        lambda: weather_factory().create("weather_agent", subagents=["planner"]),
        ValueError,
        "Agent 'planner' is not exposed as subagent. Set expose_as_subagent=True in register()",
    ),
    "the mode agent": (
        lambda: weather_factory().create(name="weather_agent", mode="agent"),
        TypeError,
        "create() has no `mode` any more; write create('weather_agent')",
    ),
    "the mode orchestrator": (
        lambda: weather_factory().create(
            name="planner", mode="orchestrator", subagents=["weather_agent"]
        ),
        TypeError,
        "create() has no `mode` any more; write create('planner', as_orchestrator=True, "
        "subagents=[...])",
    ),
    "a misspelt mode": (
        lambda: weather_factory().create("planner", mode="orchestrtor"),
        TypeError,
        "create() has no `mode` any more, and 'orchestrtor' was none (did you mean "
        "'orchestrator'?); write create('planner'), or create('planner', as_orchestrator=True, "
        "subagents=[...])",
    ),
    "a misspelt flag": (
        lambda: weather_factory().create("planner", as_orchestratr=True),
        TypeError,
        "Agent 'planner': PlannerAgent takes no 'as_orchestratr'; did you mean 'as_orchestrator'?",
    ),
    "a misspelt setting": (
        lambda: AgentFactory().register("planner", PlannerAgent, defaults={"modle": "x"}),
        TypeError,
        "Agent 'planner': PlannerAgent takes no 'modle'; did you mean 'model'?",
    ),
    "a missing system message": (
        lambda: AgentFactory().register("weather", WeatherAgent),
        ValueError,
        "Agent 'weather': WeatherAgent needs `system_message`; set it in the class, or pass it in "
        "`defaults` of register()",
    ),
    "a class without any": (
        lambda: AgentFactory().register("base", BaseAgent),
        ValueError,
        "Agent 'base': BaseAgent needs `system_message`; set it in the class, or pass it in "
        "`defaults` of register()",
    ),
    "an invalid name": (
        lambda: AgentFactory().register("the planner", PlannerAgent),
        ValueError,
        "an agent cannot be called 'the planner'; use letters, digits, `-` and `_`, at most 64, "
        "beginning with a letter",
    ),
    "an agent that cannot register others": (
        lambda: PlainAgent().register_agent(ClockAgent()),
        TypeError,
        "PlainAgent is not an orchestrator: mark it with @orchestrator, or create it with "
        "AgentFactory.create(..., as_orchestrator=True)",
    ),
    "an agent that cannot be registered": (
        lambda: ChiefAgent().register_agent(PlainAgent()),
        TypeError,
        "PlainAgent is not a subagent: mark it with @subagent(name=..., description=...), or "
        "register it with expose_as_subagent=True",
    ),
    "a misspelt argument of register": (
        lambda: AgentFactory().register("p", PlainAgent, expose_as_subagnt=True),  # type: ignore[arg-type]
        TypeError,
        "register() takes no 'expose_as_subagnt'; did you mean 'expose_as_subagent'?",
    ),
    "an older argument of register": (
        lambda: AgentFactory().register("p", PlainAgent, subagent_enabled=True),  # type: ignore[arg-type]
        TypeError,
        "register() has no 'subagent_enabled' any more: it is called 'expose_as_subagent'",
    ),
    "a setting as an argument of register": (
        lambda: AgentFactory().register("p", PlainAgent, model="x"),  # type: ignore[arg-type]
        TypeError,
        "register() takes no 'model'; write defaults={'model': ...}",
    ),
    "an argument of register that is near none": (
        lambda: AgentFactory().register("p", PlainAgent, zzz=1),  # type: ignore[arg-type]
        TypeError,
        "register() takes no 'zzz'",
    ),
    "a misspelt argument of a factory": (
        lambda: AgentFactory(globl_defaults={}),  # type: ignore[arg-type]
        TypeError,
        "AgentFactory() takes no 'globl_defaults'; did you mean 'global_defaults'?",
    ),
    "a setting as an argument of a factory": (
        lambda: AgentFactory(model="x"),  # type: ignore[arg-type]
        TypeError,
        "AgentFactory() takes no 'model'; write global_defaults={'model': ...}",
    ),
    "an older field of a specification": (
        lambda: AgentSpec(PlainAgent, subagent_enabled=True),  # type: ignore[call-arg]
        TypeError,
        "AgentSpec() has no 'subagent_enabled' any more: it is called 'expose_as_subagent'",
    ),
    "another older field of a specification": (
        lambda: AgentSpec(cls=PlainAgent, subagent_stateless=True),  # type: ignore[call-arg]
        TypeError,
        "AgentSpec() has no 'subagent_stateless' any more: it is called 'stateless'",
    ),
    "a misspelt field of a specification": (
        lambda: AgentSpec(PlainAgent, retrys=1),  # type: ignore[call-arg]
        TypeError,
        "AgentSpec() takes no 'retrys'; did you mean 'retries'?",
    ),
    "a class that is no agent": (
        lambda: AgentFactory().register("p", Path),  # type: ignore[arg-type]
        TypeError,
        "Agent 'p': cls is Path; pass a subclass of BaseAgent of coterie.agents",
    ),
    "a value that is no class": (
        lambda: AgentFactory().register("p", {}),  # type: ignore[arg-type]
        TypeError,
        "Agent 'p': cls is an instance of dict; pass a subclass of BaseAgent of coterie.agents",
    ),
    "an agent instead of its class": (
        lambda: AgentFactory().register("p", PlainAgent()),  # type: ignore[arg-type]
        TypeError,
        "Agent 'p': cls is an instance of PlainAgent; pass the class: PlainAgent",
    ),
    "a name that no tool can have": (
        lambda: AgentFactory().register("p", PlainAgent, subagent_name="my tool!"),
        ValueError,
        "Agent 'p': a tool cannot be called 'my tool!'; use letters, digits, `-` and `_`, at "
        "most 64",
    ),
    "negative retries": (
        lambda: AgentFactory().register("p", PlainAgent, retries=-1),
        ValueError,
        "Agent 'p': retries=-1; give 0 to 100",
    ),
    "a decorator with a name that no tool can have": (
        lambda: subagent("my tool!", "Helps."),
        ValueError,
        "@subagent: a tool cannot be called 'my tool!'; use letters, digits, `-` and `_`, at "
        "most 64",
    ),
    "a decorator with negative retries": (
        lambda: subagent("tool", "Helps.", retries=-1),
        ValueError,
        "@subagent: retries=-1; give 0 to 100",
    ),
    "an unknown subagent with a name near it": (
        lambda: weather_factory().create("planner", subagents=["weather_agnt"]),
        ValueError,
        "Subagent 'weather_agnt' not registered; did you mean 'weather_agent'?",
    ),
    "another id than the registered name": (
        lambda: weather_factory().create("planner", agent_id="zz"),
        TypeError,
        "Agent 'planner': `agent_id` is the registered name, so register the class as 'zz', or "
        "leave agent_id='zz' out",
    ),
    "another id in the defaults": (
        lambda: AgentFactory().register("p", PlainAgent, defaults={"agent_id": "zz"}),
        TypeError,
        "Agent 'p': `agent_id` is the registered name, so register the class as 'zz', or leave "
        "agent_id='zz' out",
    ),
    "an argument that a constructor takes without naming it": (
        lambda: AgentFactory().register("planner", PlannerAgent, defaults={"db": 1}),
        TypeError,
        "Agent 'planner': PlannerAgent takes no 'db'; name the constructor's own arguments "
        "explicitly",
    ),
    "an edge that publishes nothing known": (
        lambda: SharedMemoryGraph().add_edge("a", "b", publish="tool_results"),  # type: ignore[arg-type]
        ValueError,
        "publish='tool_results': write 'final' or 'tool_result'; did you mean 'tool_result'?",
    ),
    "an unknown setting of a constructor": (
        lambda: PlainAgent(temprature=0.5),
        TypeError,
        "PlainAgent takes no 'temprature'; did you mean 'temperature'?",
    ),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_a_mistake_is_answered_with_its_fix(case: str) -> None:
    wrong, error, message = MESSAGES[case]
    with pytest.raises(error) as raised:
        wrong()
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("levels", "model"),
    [
        (("global", "spec", "override"), "c"),
        (("global", "spec"), "b"),
        (("global",), "a"),
        ((), None),
    ],
)
def test_the_more_special_configuration_wins(levels: tuple[str, ...], model: str | None) -> None:
    given: dict[str, dict[str, Any]] = {
        name: {"model": value} if name in levels else {}
        for name, value in (("global", "a"), ("spec", "b"), ("override", "c"))
    }
    factory = AgentFactory(global_defaults=given["global"])
    factory.register("plain", PlainAgent, defaults=given["spec"])
    assert factory.create("plain", **given["override"]).settings.get("model") == model


def test_a_subagent_gets_the_defaults_and_nothing_from_its_parent() -> None:
    factory = AgentFactory({"model": "a", "temperature": 0.1})
    factory.register("planner", PlannerAgent)
    factory.register(
        "helper",
        PlainAgent,
        expose_as_subagent=True,
        subagent_description="Helps.",
        defaults={"model": "b"},
    )
    planner = factory.create("planner", subagents=["helper"], model="c", temperature=0.9)
    (helper,) = planner.all_subagents()
    assert planner.settings["model"] == "c"
    assert helper.settings == {"model": "b", "temperature": 0.1}


def test_arguments_that_create_may_give_are_missed_when_it_does_not() -> None:
    class Guide(BaseAgent):
        system_message = "You guide."

        def __init__(self, city: str) -> None:
            super().__init__()
            self.city = city

    factory = AgentFactory().register("guide", Guide)
    assert vars(factory.create("guide", city="Rome"))["city"] == "Rome"
    with pytest.raises(ValueError, match="'guide': Guide needs `city`; pass it in `defaults`"):
        factory.create("guide")
    with pytest.raises(ValueError, match="needs `city`"):
        factory.register("tour", Guide, expose_as_subagent=True, subagent_description="Tours.")


def test_the_older_names_of_arguments_work_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match=r"is now AgentFactory\(global_defaults=...\)"):
        factory = AgentFactory(defaults={"model": "a"})
    with pytest.warns(DeprecationWarning, match=r"is now register\(stateless=...\)"):
        factory.register(
            "plain",
            PlainAgent,
            expose_as_subagent=True,
            subagent_description="Helps.",
            subagent_stateless=False,
        )
    spec = factory.get_spec("plain")
    assert spec is not None
    assert spec.stateless is False
    assert factory.create("plain").settings == {"model": "a"}


@pytest.mark.parametrize(
    ("old", "new"),
    [("subagent_enabled", "expose_as_subagent"), ("subagent_stateless", "stateless")],
)
def test_an_older_name_of_a_field_answers_with_the_new_one(old: str, new: str) -> None:
    with pytest.raises(AttributeError, match=f"{old!r} any more: it is called {new!r}"):
        getattr(AgentSpec(PlainAgent), old)


def test_a_mark_says_what_an_orchestrator_has_as_a_tool(tmp_path: Path) -> None:
    marked: Any = ClockAgent
    said = (marked.subagent_name, marked.subagent_description, marked.subagent_stateless)
    assert said == ("clock", "Tells the time.", False)
    chief = ChiefAgent(provider="scripted", model="demo")
    chief.register_agent(ClockAgent(provider="scripted", model="demo"))
    tool = chief.compiled(around(tmp_path)).plan.tools["clock"]
    assert marked.subagent_schema == tool.input_schema
    assert marked.subagent_schema["properties"]["query"] == {"type": "string", "minLength": 1}


def test_registering_a_class_twice_changes_nothing_but_the_specification() -> None:
    factory = AgentFactory()
    for model in ("a", "b"):
        given = {"model": model}
        factory.register("clock", ClockAgent, expose_as_subagent=True, defaults=given, replace=True)
    factory.register("chief", ChiefAgent)
    chief = factory.create("chief", subagents=["clock"])
    (clock,) = chief.all_subagents()
    assert (type(chief), type(clock)) == (ChiefAgent, ClockAgent), "no marked class gets a subclass"
    assert clock.settings == {"model": "b"}
    assert chief.tools == ("clock",)


def test_both_doors_of_the_factory_give_the_same_persona() -> None:
    factory = AgentFactory({"provider": "scripted", "model": "demo"}).register(
        "planner", PlannerAgent, defaults={"temperature": 0.5}
    )
    by_document = factory.create_agent(
        {"name": "step", "agent_type": "generic_tool_calling", "persona_key": "planner"}
    )
    assert by_document.persona == factory.create("planner").persona
    assert by_document.persona.prompts["system"] == "You plan trips."
