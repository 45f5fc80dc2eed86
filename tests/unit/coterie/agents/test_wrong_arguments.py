"""What a program gives by mistake is answered with a sentence that names the agent or the tool."""

import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from coterie import tool
from coterie.agents import (
    AgentContext,
    AgentFactory,
    AgentSpec,
    BaseAgent,
    BaseTool,
    InvalidTool,
    SharedMemoryGraph,
    ToolRegistry,
    ToolSchema,
    subagent,
)
from coterie.agents.agent_arguments import OF_REGISTER
from coterie.dsl.values import Json
from tests.support.programs.python_agents import PlainAgent, around, plain_of, ran

WRONG = (5, -1, 1.5, "no", math.nan, [PlainAgent], PlainAgent, object(), {5: "a"})
"""Values of which none fits most arguments."""


def registered(**given: Any) -> object:
    return AgentFactory().register("p", PlainAgent, **given)


def created(**given: Any) -> object:
    return AgentFactory().register("p", PlainAgent).create("p", **given)


def made(**given: Any) -> object:
    return PlainAgent(**given)


def refusal_of(function: Callable[..., object], name: str, value: object) -> str | None:
    """Return the sentence, or None where the value is accepted."""
    try:
        function(**{name: value})
    except (TypeError, ValueError) as error:
        return str(error)
    return None


CALLS: dict[str, tuple[Callable[..., object], tuple[str, ...], str]] = {
    "register": (registered, (*OF_REGISTER, "replace"), "Agent 'p': "),
    "create": (created, ("as_orchestrator", "subagents", "system_message"), "Agent 'p': "),
    "constructor": (
        made,
        ("system_message", "agent_id", "tools", "output_schema"),
        "PlainAgent: |agent 'plain_agent': |an agent cannot be called",
    ),
    "specification": (
        partial(AgentSpec, PlainAgent),
        tuple(OF_REGISTER),
        r"AgentSpec\(\): ",
    ),
    "decorator": (
        partial(subagent, name="n", description="d"),
        ("name", "description", "stateless", "retries"),
        "@subagent: |@subagent needs",
    ),
    "edge": (
        partial(SharedMemoryGraph().add_edge, source="a", reader="b"),
        ("source", "reader", "publish"),
        r"add_edge\(\): |publish=",
    ),
    "factory": (AgentFactory, ("global_defaults",), r"AgentFactory\(\): "),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_argument_of_the_wrong_type_is_refused_by_a_sentence(call: str) -> None:
    """Walks all arguments of a call with values of all types."""
    function, names, where = CALLS[call]
    for name in names:
        said = [refusal for value in WRONG if (refusal := refusal_of(function, name, value))]
        assert len(said) >= 6, name
        assert [one for one in said if not re.match(where, one)] == [], name


def test_a_factory_takes_no_graph_of_another_type() -> None:
    with pytest.raises(
        TypeError, match=r"with_memory_graph\(\): graph=5; give a SharedMemoryGraph"
    ):
        AgentFactory().with_memory_graph(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "function",
    [
        lambda: AgentFactory().register("p", PlainAgent, defaults={"system_message": 5}),
        lambda: AgentFactory({"system_message": 5}).register("p", PlainAgent),
    ],
)
def test_a_wrong_default_is_found_at_registration(function: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="Agent 'p': system_message=5; give a text"):
        function()


def test_an_agent_in_place_of_its_name_is_answered_with_what_to_call() -> None:
    with pytest.raises(TypeError, match=r"subagents=\[an instance of PlainAgent\].*register_agent"):
        created(subagents=[PlainAgent()])
    with pytest.raises(TypeError, match="subagents='weather'; give a list of registered names"):
        created(subagents="weather")


class Guide(BaseAgent):
    """Builds its message; whatever else it gets, it passes on."""

    def __init__(self, topic: Any = "boats", **settings: Any) -> None:
        super().__init__("You know " + topic, **settings)


@pytest.mark.parametrize(
    ("defaults", "message"),
    [
        (
            {"system_message": "You help."},
            "Agent 'guide': the constructor of Guide writes its own system message, and "
            "`system_message` is in the defaults, too; leave it out of the defaults, or name "
            "`system_message` as an argument of the constructor",
        ),
        (
            {"topic": 5},
            "Agent 'guide': the constructor of Guide failed: TypeError: can only concatenate str "
            '(not "int") to str (arguments: topic)',
        ),
    ],
)
def test_a_constructor_that_fails_is_named_with_its_agent(
    defaults: dict[str, Any], message: str
) -> None:
    factory = AgentFactory(defaults).register("guide", Guide)
    with pytest.raises(TypeError) as raised:
        factory.create("guide")
    assert str(raised.value) == message
    assert isinstance(raised.value.__cause__, TypeError), "the author needs the place"


def good(n: int) -> int:
    """Return it."""
    return n


PARTS: dict[str, tuple[Any, ...]] = {
    "name": (5, None, "a b"),
    "executor": (5, None),
    "description": (5, ["x"]),
    "input_schema": (5, {"n": 5}, {"n": {"type": "integr"}}),
    "timeout_seconds": (math.nan, math.inf, -1, 0, "3", True, 1e12),
    "max_retries": (-1, 101, 1.5, "3", True, math.nan),
    "effect": ("sometimes", 5),
    "labels": (("x",), "private", 5, (5,)),
    "requires_approval": ("yes", 5),
}
"""Of a ToolSchema; every part has values that it cannot have."""


@pytest.mark.parametrize("part", [*ToolSchema.__dataclass_fields__])
def test_a_tool_with_a_wrong_part_is_refused_with_its_name(part: str, tmp_path: Path) -> None:
    for value in PARTS[part]:
        given: dict[str, Any] = {"name": "good", "executor": good, part: value}
        named = repr(given["name"])
        whole: dict[str, Any] = {"description": "", **given}
        with pytest.raises(InvalidTool) as raised:
            ToolRegistry().register_simple(**whole)
        assert named in str(raised.value), value
        with pytest.raises(InvalidTool) as again:
            PlainAgent(tools=[ToolSchema(**given)]).compiled(around(tmp_path))
        assert str(again.value) == f"agent 'plain_agent': {raised.value}"
        if part not in {"executor", "input_schema", "name"}:
            kind = type("Good", (BaseTool,), {"run": staticmethod(good), part: value})
            with pytest.raises(InvalidTool, match="'Good'"):
                ToolRegistry().register(kind())


MARKED: dict[str, tuple[Any, ...]] = {
    "description": (5,),
    "effect": ("sometimes", 5),
    "timeout": PARTS["timeout_seconds"],
    "retries": PARTS["max_retries"],
    "labels": PARTS["labels"],
    "secrets": ("KEY", 5, (5,)),
}


@pytest.mark.parametrize("part", MARKED)
def test_a_marked_function_with_wrong_terms_is_refused_with_its_name(part: str) -> None:
    for value in MARKED[part]:
        marked: Any = tool(**{part: value})(FunctionType(good.__code__, {}))
        marked.__annotations__ = {"n": int, "return": int}
        with pytest.raises(InvalidTool, match="the tool 'f' "):
            ToolRegistry().register(marked, name="f")


async def test_an_invalid_entry_of_a_script_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="entry 2 of the script is invalid: tsk: "):
        await ran(PlainAgent(), tmp_path, {"answer": "a", "task": "t"}, {"tsk": 1, "task": "t"})


def test_a_subclass_of_a_marked_class_is_no_subagent() -> None:
    @subagent("clock", "Tells the time.")
    class Clock(PlainAgent):
        pass

    class Sundial(Clock):
        pass

    with pytest.raises(ValueError, match="because class Sundial is not decorated with @subagent"):
        AgentFactory().register("sundial", Sundial, expose_as_subagent=True)
    chief: Any = AgentFactory().register("chief", PlainAgent).create("chief", as_orchestrator=True)
    with pytest.raises(TypeError, match="Sundial is not a subagent"):
        chief.register_agent(Sundial())
    factory = AgentFactory().register("planner", PlainAgent)
    factory.register("dial", Sundial, expose_as_subagent=True, subagent_description="By the sun.")
    factory.register("clock", Clock, expose_as_subagent=True, subagents=["dial"])
    planner = factory.create("planner", subagents=["clock", "dial"])
    assert planner.tools == ("clock", "dial"), "with a subagent of its own it stays marked"


def test_a_name_is_registered_twice_only_if_the_second_replaces_the_first() -> None:
    class Other(PlainAgent):
        pass

    factory = AgentFactory().register("helper", PlainAgent).register("helper", PlainAgent)
    for given in ({"cls": Other}, {"cls": PlainAgent, "defaults": {"model": "a"}}):
        with pytest.raises(ValueError, match="already registered as 'helper': PlainAgent; choose"):
            factory.register("helper", **given)  # type: ignore[arg-type]
    assert type(factory.create("helper")) is PlainAgent
    factory.register("helper", Other, replace=True)
    assert type(factory.create("helper")) is Other


def test_lists_of_an_agent_never_change_others_or_their_specification() -> None:
    policy: list[dict[str, Any]] = [{"tool": "forecast", "min_calls": 1}]
    schema: Json = {"type": "object", "properties": {"a": {"type": "string"}}}
    for level in ("global", "registered", "created"):
        given: dict[str, Any] = {"tool_policy": policy, "output_schema": schema}
        factory = AgentFactory(given if level == "global" else {})
        factory.register("p", PlainAgent, defaults=given if level == "registered" else {})
        own = given if level == "created" else {}
        first: Any = factory.create("p", **own)
        second: Any = factory.create("p", **own)
        first.settings["tool_policy"][0]["min_calls"] = 9
        first.settings["tool_policy"].append("wrong")
        first.settings["output_schema"]["properties"].clear()
        assert second.settings == given, level
        assert factory.create("p", **own).settings == given, level
    policy.append({"tool": "forecast"})
    spec = AgentSpec(PlainAgent, defaults={"tool_policy": policy}, subagents=["a"])  # type: ignore[arg-type]
    policy.clear()
    assert (len(spec.defaults["tool_policy"]), spec.subagents) == (2, ("a",))
    with pytest.raises(AttributeError):
        spec.defaults["tool_policy"].append("more")
    with pytest.raises(TypeError, match="does not support item assignment"):
        spec.defaults["tool_policy"][0]["min_calls"] = 2


@pytest.mark.parametrize("answer", ["Rome", {"city": "Rome"}])
async def test_a_question_of_a_tool_is_answered_in_the_process(tmp_path: Path, answer: Any) -> None:
    """By `AgentRun.answer`, or by the callback of the context; an approval is none of them."""
    asked: dict[str, Any] = {"question": "Where?"}
    unfit: Json = {"nothing": 1}
    if answer != "Rome":
        asked["answer_schema"] = {"type": "object", "properties": {"city": {"type": "string"}}}
        unfit = {"city": 5}
    context = plain_of(tmp_path, ("person_ask", asked), "Rome")
    run = PlainAgent(agent_id="plain", tools=["Person.ask"]).begin("Go?", context=context)
    paused = await run.result()
    assert paused.status == "paused"
    assert "Where?" in (paused.pause_reason or "")
    with pytest.raises(ValueError, match="asks a question; answer it by answer"):
        run.approve("ann")
    with pytest.raises(ValueError, match="payload"):
        run.answer("ann", unfit)
    ended = await run.answer("ann", answer).result()
    assert (ended.text, ended.tool_history[0].status) == ("ok", "success")
    seen: list[str] = []

    async def by_callback(question: str) -> Any:
        seen.append(question)
        return answer

    agent = PlainAgent(agent_id="plain", tools=["Person.ask"])
    whole = AgentContext(folder=tmp_path, script=context.script, answer=by_callback)
    state = await agent.run("Go?", context=whole)
    assert (state.text, len(seen)) == ("ok", 1)
    assert "the program" in (state.tool_history[0].result or "")
