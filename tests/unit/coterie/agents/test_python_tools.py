"""Tools of a program: registry, definitions, and classes, with the signatures of the designs."""

from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from coterie import tool
from coterie.agents import BaseAgent, BaseTool, InvalidTool, ToolRegistry, ToolSchema
from coterie.dsl.model.tools.tool_contract import FunctionTool
from tests.support.programs.python_agents import PlainAgent, around, asks, says
from tests.support.programs.weather_tools import forecast


def multiplied(expression: Any) -> int:  # untyped for the schema to say it
    first, _, second = str(expression).partition("*")
    return int(first) * int(second)


class Shout(BaseTool):
    """Say a word loudly."""

    name = "shout"
    max_retries = 1
    labels = ("private",)

    def run(self, word: str) -> str:
        return word.upper()


def agent(*tools: Any) -> BaseAgent:
    return PlainAgent(agent_id="plain", tools=tools)


def test_a_tool_is_registered_as_the_design_writes_it() -> None:
    registry = ToolRegistry()
    registry.register_simple(
        name="multiplier",
        description="Multiply the factors of a product",
        executor=multiplied,
        input_schema={"expression": {"type": "string"}},
        timeout_seconds=3.0,
        max_retries=3,
    )
    found = registry.get("multiplier")
    assert (found.timeout_seconds, found.max_retries) == (3.0, 3)
    assert found.arguments == {
        "type": "object",
        "properties": {"expression": {"type": "string"}},
        "required": ["expression"],
        "additionalProperties": False,
    }
    assert registry.list() == ["multiplier"]
    assert "multiplier" in registry
    assert len(registry) == len(list(registry)) == 1
    names = list(signature(ToolRegistry.register_simple).parameters)[1:7]
    assert names == [
        "name",
        "description",
        "executor",
        "input_schema",
        "timeout_seconds",
        "max_retries",
    ]


async def test_a_registered_tool_reaches_the_plan_and_runs_with_its_contract(
    tmp_path: Path,
) -> None:
    registry = ToolRegistry()
    registry.register_simple(
        "multiplier",
        "Multiply the factors of a product",
        multiplied,
        {"expression": {"type": "string"}},
        3.0,
        3,
    )
    script = (
        asks("plain", 1, ("multiplier", {"expression": "6*7"}), ("multiplier", {"expression": 6})),
        says("plain", "42", turn=2, contains="the arguments of 'multiplier' are invalid"),
    )
    run = agent("multiplier").begin("Go?", context=around(tmp_path, *script, registry=registry))
    state = await run.result()
    call, refused = state.tool_history
    assert (call.result, state.text) == ("42", "42")
    assert (call.status, refused.status, refused.failed) == ("success", "refused", True)


async def test_the_contract_of_a_tool_is_what_its_definition_says(tmp_path: Path) -> None:
    registry = ToolRegistry()
    registry.register_simple(
        "multiplier",
        "Multiply the factors of a product",
        multiplied,
        {"expression": {"type": "string"}},
        3.0,
        3,
    )
    registry.register(forecast, name="weather")
    registry.register(Shout())
    tools = (
        agent("multiplier", "weather", "shout")
        .compiled(around(tmp_path, registry=registry))
        .plan.tools
    )
    terms = {
        name: (one.terms.timeout, one.terms.retries, one.effect, one.labels, one.description)
        for name, one in tools.items()
        if isinstance(one, FunctionTool)
    }
    assert terms == {
        "multiplier": (3.0, 3, "idempotent", (), "Multiply the factors of a product"),
        "weather": (60.0, 2, "read", (), "Tell tomorrow's weather in a city."),
        "shout": (60.0, 1, "idempotent", ("private",), "Say a word loudly."),
    }


def test_a_tool_without_run_cannot_be_made() -> None:
    class Silent(BaseTool):
        """Does nothing."""

    with pytest.raises(TypeError, match=r"abstract method '?run"):
        Silent()  # type: ignore[abstract]


async def test_an_instance_of_a_tool_class_is_called(tmp_path: Path) -> None:
    script = (asks("plain", 1, ("shout", {"word": "hey"})), says("plain", "x", turn=2))
    state = await agent(Shout()).run("Go?", context=around(tmp_path, *script))
    assert [call.result for call in state.tool_history] == ["HEY"]


def test_a_name_belongs_to_one_tool() -> None:
    registry = ToolRegistry()
    registry.register(forecast)
    registry.register(forecast)
    with pytest.raises(InvalidTool, match="another tool is already registered as 'forecast'"):
        registry.register(Shout(), name="forecast")
    assert registry.list() == ["forecast"]


def test_an_unknown_tool_is_answered_with_the_nearest() -> None:
    registry = ToolRegistry()
    registry.register(forecast)
    with pytest.raises(InvalidTool) as raised:
        registry.get("forcast")
    assert str(raised.value) == (
        "no tool is registered as 'forcast'; registered: forecast: did you mean 'forecast'?"
    )


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"a": {"type": "wrong"}}, "the input_schema of the tool 'add' cannot be checked"),
        ({"a": {"$ref": "https://example.org/a"}}, "cannot be checked"),
    ],
)
def test_a_schema_that_cannot_be_checked_is_refused_at_registration(
    schema: Any, message: str
) -> None:
    with pytest.raises(InvalidTool, match=message):
        ToolRegistry().register_simple("add", "Adds.", multiplied, schema)


def test_a_definition_is_completed_by_the_mark_of_its_function() -> None:
    @tool(effect="idempotent", timeout=5, retries=4, labels=["egress"])
    def send(text: str) -> str:
        """Send a text."""
        return text

    schema = ToolSchema("send_it", send, max_retries=1, labels=("private",))
    plan = agent(schema).compiled(around(Path.cwd())).plan.tools["send_it"]
    assert isinstance(plan, FunctionTool)
    assert (plan.terms.timeout, plan.terms.retries, plan.effect) == (5.0, 1, "idempotent")
    assert set(plan.labels) == {"egress", "private"}
    assert plan.description == "Send a text."
