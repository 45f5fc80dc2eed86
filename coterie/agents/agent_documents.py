"""Write the document that an agent of a program is: its personas, tools and one team.

A run of the agent is a run of this document, in this process or on Temporal.
"""

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import yaml
from pydantic import JsonValue

from coterie.agents.agent_definition import AgentDefinition, AgentTool, SubagentDefinition
from coterie.agents.tool_definitions import (
    InvalidTool,
    ToolFunction,
    is_same_tool,
    ready_tool,
    schema_of,
)
from coterie.agents.tool_registry import ToolRegistry
from coterie.dsl.errors import listed, nearest
from coterie.dsl.strict_json import unsound_part
from coterie.dsl.values import Json

QUERY = "query"
"""The path of the context with what the agent is asked."""

_NUMBER = "#"
"""Separates the path of a function from the number of a further tool that has it."""

_OPENS_A_TEMPLATE = re.compile(r"\{(?=[{%#])")


class AgentDocument(NamedTuple):
    """A document, and the functions that its tools call."""

    name: str
    tree: Json
    functions: tuple[ToolFunction, ...]
    """Their contracts have the names of the document's skills."""
    owners: dict[str, str]
    """`{name of a skill: the agent that has it as a tool}`."""


def document_of(agent: AgentDefinition, registry: ToolRegistry) -> AgentDocument:
    """Write the document of an agent.

    Args:
        agent: The agent that is asked.
        registry: The tools that agents name.

    Raises:
        InvalidTool: A tool cannot be used, or two tools or agents have the same name.
    """
    writer = _Writer(registry)
    writer.add_agent(agent)
    writer.add_memory(agent)
    step: Json = {
        "name": agent.id,
        "persona_key": agent.id,
        "input": {QUERY: f"{{{{ context.{QUERY} }}}}"},
    }
    tree: Json = {
        "name": agent.id,
        "llm_config": {"personas": dict(writer.personas)},
        "tools": dict(writer.tools),
        "orchestration": {
            "entry_team": agent.id,
            "context": {QUERY: {"type": "string"}},
            "teams": {agent.id: {"tasks": [step]}},
        },
    }
    if not writer.tools:
        del tree["tools"]
    return AgentDocument(agent.id, tree, tuple(writer.functions.values()), writer.owners)


def written_document(document: AgentDocument) -> str:
    """Return the document as YAML."""
    return yaml.safe_dump(document.tree, sort_keys=False, allow_unicode=True)


def written_persona(agent: AgentDefinition, tools: tuple[str, ...]) -> Json:
    """Return the persona of an agent that has the tools of these names."""
    prompts: Json = {"user": f"{{{{ input.{QUERY} }}}}"}
    if agent.system_message:
        prompts = {"system": literal(agent.system_message), **prompts}
    persona: Json = {**agent.settings, "prompts": prompts}
    if tools:
        persona["tools"] = list(tools)
    return persona


def described_persona(agent: AgentDefinition) -> Json:
    """Return the persona of an agent, with its tools by their names, subagents last.

    Raises:
        InvalidTool: One of them cannot be a tool; names the agent.
    """
    try:
        own = tuple(map(name_of, agent.tools))
    except InvalidTool as error:
        raise InvalidTool(f"agent {agent.id!r}: {error}") from None
    return written_persona(agent, (*own, *(called.name for called in agent.subagents)))


def name_of(tool: AgentTool) -> str:
    """Return the name under which a model calls a tool: `files_read` of the skill `Files.read`."""
    if isinstance(tool, str):
        return tool.replace(".", "_").lower() if "." in tool else tool
    return schema_of(tool).name


def literal(text: str) -> str:
    """Return a template that renders to the text."""
    return _OPENS_A_TEMPLATE.sub('{{ "{" }}', text)


class _Writer:
    """Collects the parts of one document."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._agents: dict[str, AgentDefinition] = {}
        self.personas: dict[str, JsonValue] = {}
        self.tools: dict[str, Json] = {}
        self.functions: dict[str, ToolFunction] = {}
        self.owners: dict[str, str] = {}
        self._subagents: dict[str, SubagentDefinition] = {}

    def add_agent(self, agent: AgentDefinition) -> None:
        """Add an agent with its tools, which keep their order, and its subagents after them."""
        known = self._agents.get(agent.id)
        if known is not None:
            if known != agent:
                raise InvalidTool(
                    f"two different agents are called {agent.id!r}; give one another agent_id"
                )
            return
        self._agents[agent.id] = agent
        self.personas[agent.id] = None  # before those of its subagents
        tools = tuple(self._add_tool(tool, agent) for tool in agent.tools)
        named = tuple(self._add_subagent(one) for one in agent.subagents)
        offered = (*tools, *named)
        twice = sorted({name for name in offered if offered.count(name) > 1})
        if twice:
            raise InvalidTool(f"agent {agent.id!r} has several tools called {listed(twice)}")
        self.personas[agent.id] = written_persona(agent, offered)

    def _add_subagent(self, called: SubagentDefinition) -> str:
        if called.agent.overrides:
            raise InvalidTool(
                f"agent {called.agent.id!r} cannot be a subagent: {called.agent.class_name} "
                f"overrides {listed(called.agent.overrides)}(), and an orchestrator's model calls "
                "the agent's settings, not its Python; move the code into a tool"
            )
        section: Json = {"agent": called.agent.id, "description": called.description}
        if not called.stateless:
            section["stateful"] = True
        if called.retries:
            section |= {"on_error": "retry", "retries": called.retries}
        self._declare(called.name, section)
        self._subagents[called.agent.id] = called
        self.add_agent(called.agent)
        return called.name

    def _add_tool(self, tool: AgentTool, agent: AgentDefinition) -> str:
        if isinstance(tool, str) and tool not in self._registry:
            return self._add_skill(tool, agent)
        try:
            schema = self._registry.get(tool) if isinstance(tool, str) else schema_of(tool)
            function = self._function(ready_tool(schema))
        except InvalidTool as error:
            raise InvalidTool(f"agent {agent.id!r}: {error}") from None
        self.owners.setdefault(function.found.name, agent.id)
        section: Json = {"skill": function.found.name}
        if schema.description:
            section["description"] = schema.description
        if schema.timeout_seconds is not None:
            section["timeout"] = schema.timeout_seconds
        if schema.max_retries is not None and function.found.effect != "once":
            section["retries"] = schema.max_retries
        if schema.labels:
            section["labels"] = list(schema.labels)
        if schema.requires_approval:
            section["requires_approval"] = True
        self._declare(schema.name, section)
        return schema.name

    def _add_skill(self, skill: str, agent: AgentDefinition) -> str:
        """Add one of Coterie's own skills, `Files.read`, under the name `files_read`."""
        if "." not in skill or ":" in skill:
            hint = nearest(skill, self._registry.list())
            raise InvalidTool(
                f"agent {agent.id!r} names the tool {skill!r}, which is neither registered nor a "
                f"skill like 'Files.read'; registered: {listed(self._registry.list())}"
                + (f": {hint}" if hint else "")
            )
        name = name_of(skill)
        self._declare(name, {"skill": skill})
        return name

    def _function(self, function: ToolFunction) -> ToolFunction:
        """Return the function under a skill's name that no other function has."""
        path = function.found.name
        for name in _names(path):
            known = self.functions.get(name)
            if known is None:
                found = function.found.model_copy(update={"name": name})
                self.functions[name] = replace(function, found=found)
            elif not is_same_tool(known.schema, function.schema):
                continue
            return self.functions[name]
        raise AssertionError("names never end")

    def _declare(self, name: str, section: Json) -> None:
        known = self.tools.setdefault(name, section)
        if known != section:
            raise InvalidTool(
                f"two different tools are called {name!r}; the agents of a run share their tools' "
                "names, so give one of them another name"
            )

    def add_memory(self, agent: AgentDefinition) -> None:
        """Let the subagents read each other's work, as far as they are here."""
        for edge in agent.graph or ():
            source, reader = (self._subagents.get(one) for one in (edge.source, edge.reader))
            if edge.reader == agent.id:
                warnings.warn(
                    f"{agent.id!r} reads the work of {edge.source!r} as the result of its calls; "
                    "an edge to the orchestrator itself does nothing",
                    stacklevel=2,
                )
            if reader is None:
                continue  # the graph serves other orchestrators too
            if source is None:
                warnings.warn(
                    f"{edge.reader!r} reads the work of {edge.source!r}, which is no subagent of "
                    f"{agent.id!r} here",
                    stacklevel=2,
                )
                continue
            reads = self.tools[reader.name].setdefault("reads", [])
            assert isinstance(reads, list)
            reads.append({"from": source.name, "publish": edge.publish})


def shares_function(function: ToolFunction) -> bool:
    """Return whether another tool of the document has the same function with other terms."""
    return _NUMBER in function.found.name


def _names(path: str) -> Iterator[str]:
    yield path
    number = 2
    while True:
        yield f"{path}{_NUMBER}{number}"
        number += 1


def query_of(context: Json) -> str:
    """Return what the agent of a document is asked: its `input`, or the `query` within it."""
    given = context.get("input")
    for part in (given, context.get("context")):
        if isinstance(part, str):
            return part
        found = part.get(QUERY) if isinstance(part, dict) else None
        if isinstance(found, str):
            return found
    raise ValueError(f"the context has no text under `input`, or under `{QUERY}` within it")


def query_context(query: str) -> Json:
    """Return the context of a run.

    Raises:
        ValueError: The query is not a text that JSON can carry.
    """
    context: Json = {QUERY: query}
    unsound = unsound_part(context)
    if unsound is not None:
        raise ValueError(f"in the context, {unsound}")
    return context
