"""What an agent of a program consists of, as data: what its document and its runs are made from."""

import re
from dataclasses import dataclass

from coterie.agents.memory_graph import SharedMemoryGraph
from coterie.agents.tool_definitions import BaseTool, Executor, ToolSchema
from dsl.model.steps import PersonaDocument
from dsl.values import Json

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
