"""What exists only in a program is refused for Temporal, by name, before the run."""

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from coterie.agents import (
    AgentState,
    BaseAgent,
    BaseTool,
    InvalidAgent,
    ToolSchema,
    orchestrator,
    subagent,
)
from coterie.agents.tool_definitions import ready_tool, schema_of
from coterie.dsl.compile.compiler import SourceText, compile_sources
from tests.support.compiling import CAPABILITIES
from tests.support.programs.python_agents import PlainAgent, PlannerAgent, around, says, unnamed
from tests.support.programs.weather_tools import forecast, unmarked


class Shout(BaseTool):
    """Say a word loudly."""

    def run(self, word: str) -> str:
        return word.upper()

    @staticmethod
    def whisper(word: str) -> str:
        return word.lower()


def closure(factor: int) -> Any:
    def times(n: int) -> int:
        return n * factor

    return times


def nested() -> Any:
    def plain(n: int) -> int:
        return n

    return plain


def of_the_program() -> Any:
    def main(n: int) -> int:
        return n

    main.__module__, main.__qualname__ = "__main__", "main"
    return main


def replaced() -> Any:
    module = ModuleType("replaced_module")
    exec("def old(n: int) -> int:\n    return n", vars(module))
    old = vars(module)["old"]
    vars(module)["old"] = None
    sys.modules[module.__name__] = module
    return old


SCHEMA: Any = {"city": {"type": "string"}}
LAMBDA = ToolSchema("same", unnamed(lambda n: n), input_schema={"n": {"type": "integer"}})

REFUSED: dict[str, tuple[Any, str]] = {
    "a lambda": (LAMBDA, "it is a lambda (test_durable_agents"),
    "a closure": (closure(2), "it is a closure inside closure() (test_durable_agents.py:"),
    "a nested function": (nested(), "it is a function inside nested() (test_durable_agents.py:"),
    "a function of the program": (of_the_program(), "it is defined in the program itself"),
    "a static method": (ToolSchema("w", Shout.whisper), "it belongs to the class Shout"),
    "a tool class": (Shout(), "it is a method of an instance of Shout"),
    "a replaced function": (replaced(), "replaced_module has something else under the name 'old'"),
    "an unmarked function": (
        unmarked,
        "tests.support.programs.weather_tools:unmarked has no @tool",
    ),
    "another schema": (
        ToolSchema("forecast", forecast, input_schema=SCHEMA),
        "its ToolSchema has an input_schema, and a worker reads the arguments from the types",
    ),
    "another effect": (
        ToolSchema("forecast", forecast, effect="once"),
        "its ToolSchema has the effect 'once', and @tool says 'read'",
    ),
}


def test_a_function_of_two_tools_needs_a_second_one_on_a_worker(tmp_path: Path) -> None:
    again = ToolSchema("tomorrow", forecast, description="Tells the weather.", max_retries=0)
    agent = PlainAgent(agent_id="plain", tools=[forecast, again])
    with pytest.raises(InvalidAgent) as raised:
        agent.to_yaml(around(tmp_path))
    assert str(raised.value) == (
        "agent 'plain': a worker cannot call the tool 'tomorrow': another tool has the same "
        "function with other terms; define a second function for it"
    )


def test_no_retries_are_terms_too(tmp_path: Path) -> None:
    schema = ToolSchema("forecast", forecast, max_retries=0)
    written = PlainAgent(agent_id="plain", tools=[schema]).to_yaml(around(tmp_path))
    assert yaml.safe_load(written)["tools"]["forecast"]["retries"] == 0


@pytest.mark.parametrize("case", REFUSED)
async def test_a_tool_that_no_worker_can_call_is_named_with_the_reason(
    tmp_path: Path, case: str
) -> None:
    given, reason = REFUSED[case]
    agent = PlainAgent(agent_id="plain", tools=[given])
    with pytest.raises(InvalidAgent) as raised:
        agent.to_yaml(around(tmp_path))
    message = str(raised.value)
    (name,) = agent.tools
    assert message.startswith(f"agent 'plain': a worker cannot call the tool {name!r}: {reason}")
    assert (await agent.run("Go?", context=around(tmp_path, says("plain", "ok")))).text == "ok"


async def test_a_run_on_a_server_is_refused_before_a_server_is_sought(tmp_path: Path) -> None:
    agent = PlainAgent(tools=[LAMBDA])
    with pytest.raises(InvalidAgent, match="it is a lambda"):
        await agent.start("Go?", context=around(tmp_path))
    assert os.listdir(tmp_path) == []


def test_every_tool_of_every_agent_is_named_at_once(tmp_path: Path) -> None:
    helper = subagent("helper", "Helps.")(type("Helper", (PlainAgent,), {}))
    chief = orchestrator(type("Chief", (PlainAgent,), {}))(agent_id="chief", tools=[unmarked])
    chief.register_agent(helper(agent_id="helper", tools=[closure(2)]))
    with pytest.raises(InvalidAgent) as raised:
        chief.to_yaml(around(tmp_path))
    first, second = str(raised.value).splitlines()
    assert first.startswith("agent 'chief': a worker cannot call the tool 'unmarked'")
    assert second.startswith("agent 'helper': a worker cannot call the tool 'times'")


def test_a_class_that_changes_its_runs_is_refused(tmp_path: Path) -> None:
    class Loud(PlainAgent):
        async def run(self, *args: Any, **more: Any) -> AgentState:
            return await super().run("Shout!", **more)

    with pytest.raises(InvalidAgent, match=r"agent 'loud': Loud overrides run\(\), and a worker"):
        Loud().to_yaml(around(tmp_path))


def test_the_written_document_compiles_to_the_same_plan(tmp_path: Path) -> None:
    agent: BaseAgent = PlannerAgent(agent_id="planner", provider="scripted", model="demo")
    context = around(tmp_path)
    plan = agent.durable(context).plan
    assert plan.tools["forecast"].labels == (
        "egress",
    )  # the worker does not say that it is offline
    contract = tool_contract()
    known = CAPABILITIES.model_copy(update={"functions": {**CAPABILITIES.functions, **contract}})
    text = agent.to_yaml(context)
    assert compile_sources([SourceText("planner.yml", text)], known, name="x").plan == plan
    assert yaml.safe_load(text)["tools"] == {
        "forecast": {"skill": "tests.support.programs.weather_tools:forecast"}
    }


def tool_contract() -> Any:
    found = ready_tool(schema_of(forecast)).contract
    return {found.name: found}


def test_a_definition_may_change_what_a_document_can_say(tmp_path: Path) -> None:
    schema = ToolSchema(
        "sky", forecast, "Tells the sky.", timeout_seconds=5, max_retries=1, requires_approval=True
    )
    agent = PlainAgent(tools=[schema])
    assert yaml.safe_load(agent.to_yaml(around(tmp_path)))["tools"] == {
        "sky": {
            "skill": "tests.support.programs.weather_tools:forecast",
            "description": "Tells the sky.",
            "timeout": 5,
            "retries": 1,
            "requires_approval": True,
        }
    }
