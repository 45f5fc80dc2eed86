"""What an agent of a program consists of, as data: what its document and its runs are made from."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import BaseModel

from coterie.agents.agent_arguments import SCHEMA, check_values
from coterie.agents.memory_graph import SharedMemoryGraph
from coterie.agents.tool_definitions import BaseTool, Executor, ToolSchema
from coterie.dsl.checks.tools.tool_names import NAME_OF_A_TOOL
from coterie.dsl.errors import nearest
from coterie.dsl.model.steps import PersonaDocument
from coterie.dsl.model.template_bound import MAX_RETRIES
from coterie.dsl.values import Json

AgentTool = Executor | BaseTool | ToolSchema | str
"""What an agent may have as a tool; a text names a registered tool, or a skill of Coterie's."""

SETTINGS: tuple[str, ...] = tuple(
    name
    for name in PersonaDocument.model_fields
    if name
    not in {
        "prompts",
        "prompt",
        "prompt_syntax",
        "tools",
        "subagents",
        "exclude_tools",
        "handoffs",
        "execution_plan",
    }
)
"""The fields of a persona that an agent takes as settings; the others come from its tools and its
system message, or belong to documents."""

NAME_OF_AN_AGENT = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """An agent with everything that it calls."""

    id: str
    class_name: str
    system_message: str
    settings: Json
    """Fields of its persona."""
    tools: tuple[AgentTool, ...]
    subagents: tuple["SubagentDefinition", ...] = ()
    graph: SharedMemoryGraph | None = None
    overrides: tuple[str, ...] = ()
    """Methods with which the class changes how a run works: they exist in this process only."""


@dataclass(frozen=True, slots=True)
class SubagentDefinition:
    """An agent as a tool of another one."""

    name: str
    description: str
    agent: AgentDefinition
    stateless: bool = True
    retries: int = 0


def id_of(class_name: str) -> str:
    """Return the default id of an agent of a class: `WeatherAgent` gives `weather_agent`."""
    return _WORD.sub("_", class_name).lower().strip("_")


def check_settings(kind: str, settings: Iterable[str]) -> None:
    """Refuse a setting that no persona has.

    Raises:
        TypeError: Names the nearest one.
    """
    for name in settings:
        if name not in SETTINGS:
            raise TypeError(unknown_setting(kind, name, SETTINGS))


def checked_id(name: str) -> str:
    """Return a valid id.

    Raises:
        ValueError: It is invalid.
    """
    if isinstance(name, str) and NAME_OF_AN_AGENT.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
        return name
    raise ValueError(
        f"an agent cannot be called {name!r}; use letters, digits, `-` and `_`, at most 64, "
        "beginning with a letter"
    )


def check_subagent(where: str, name: str | None, retries: int | None) -> None:
    """Refuse what no tool can have; None stands for a default.

    Raises:
        ValueError: Begins with `where` the argument was written.
    """
    if name is not None and not NAME_OF_A_TOOL.fullmatch(name):
        raise ValueError(
            f"{where}: a tool cannot be called {name!r}; use letters, digits, `-` and `_`, at "
            "most 64"
        )
    if retries is not None and not 0 <= retries <= MAX_RETRIES:
        raise ValueError(f"{where}: retries={retries!r}; give 0 to {MAX_RETRIES}")


def unknown_setting(kind: str, name: str, known: Sequence[str], otherwise: str = "") -> str:
    """Say that a class takes no setting of this name, and which one was meant.

    Args:
        kind: The class.
        name: The setting.
        known: Settings that it takes.
        otherwise: The advice if none of them is near.
    """
    hint = nearest(name, (*known, "system_message", "tools", "agent_id")) or otherwise
    return f"{kind} takes no {name!r}" + (f"; {hint}" if hint else "")


def schema_of_answer(kind: str, given: object) -> Json:
    """Return the JSON Schema of an agent's answer.

    Raises:
        TypeError: It is neither a schema nor a pydantic model.
    """
    if isinstance(given, type) and issubclass(given, BaseModel):
        return given.model_json_schema()
    values = {"output_schema": cast("object", given)}
    check_values(kind, values, {"output_schema": SCHEMA})
    return cast("Json", given)


def without_system_message(kind: str) -> str:
    """Say that a class has no system message."""
    return (
        f"{kind} has no `system_message`: pass it to the constructor, set it in the class, or "
        "give it to the factory in `defaults`"
    )
