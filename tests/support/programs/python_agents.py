"""Agents of a program, for tests: classes, tools, and runs that a script answers."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from coterie.agents import AgentContext, AgentState, BaseAgent, ToolRegistry
from coterie.dsl.values import Json, JsonValue
from tests.support.programs.weather_tools import forecast


class WeatherAgent(BaseAgent):
    """Not marked with anything."""

    def __init__(self, system_message: str, **settings: Any) -> None:
        super().__init__(system_message, tools=[forecast], **settings)


class PlannerAgent(BaseAgent):
    """Has all that a class can say of its agents."""

    system_message = "You plan trips."

    def __init__(self, **settings: Any) -> None:
        policy: Any = [{"tool": "forecast", "min_calls": 1}]
        super().__init__(tools=[forecast], **{"tool_policy": policy, **settings})

    def style(self) -> str:
        """The behaviour of the class's own."""
        return "brief"


class PlainAgent(BaseAgent):
    """Has only a system message."""

    system_message = "You help."


def asks(
    task: str, turn: int, *calls: tuple[str, Mapping[str, JsonValue]], contains: str | None = None
) -> Json:
    """An entry of a script: a turn that calls tools."""
    wanted: list[JsonValue] = [{"tool": name, "arguments": dict(given)} for name, given in calls]
    entry: Json = {"task": task, "turn": turn, "tool_calls": wanted}
    return entry if contains is None else {**entry, "contains": contains}


def says(task: str, answer: JsonValue, **more: JsonValue) -> Json:
    """An entry of a script: an answer."""
    return {"task": task, "answer": answer, **more}


def around(folder: Path, *script: Json, registry: ToolRegistry | None = None) -> AgentContext:
    """A program whose models answer by a script."""
    return AgentContext(registry or ToolRegistry(), folder, script)


async def ran(agent: BaseAgent, folder: Path, *script: Json, query: str = "Go?") -> AgentState:
    """The end of a run in this process."""
    return await agent.run(query, context=around(folder, *script))


def unnamed(function: Callable[[int], int]) -> Callable[[int], int]:
    """A lambda, with types for the reader of a test."""
    return function


def results(state: AgentState, tool: str) -> Sequence[str | None]:
    """What the calls of a tool gave."""
    return [call.result for call in state.tool_history if call.tool == tool]


def plain_of(
    folder: Path, call: tuple[str, Mapping[str, JsonValue]], contains: str
) -> AgentContext:
    """A program whose agent `plain` makes one call, and then answers what contains a text."""
    return around(folder, asks("plain", 1, call), says("plain", "ok", turn=2, contains=contains))
