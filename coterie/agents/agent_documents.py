"""Write and compile the document that an agent of a program is: personas, tools and one team.

A run of the agent is a run of this document, in this process or on Temporal.
"""

import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import yaml
from pydantic import JsonValue

from coterie.activities.tool_functions.function_contracts import known_contracts
from coterie.agents.in_process_world import AgentContext
from coterie.agents.memory_graph import SharedMemoryGraph
from coterie.agents.tool_definitions import (
    AnyTool,
    DefinedTool,
    InvalidTool,
    ToolRegistry,
    is_same_tool,
    name_of,
    ready_tool,
    schema_of,
)
from coterie.documents.catalog import Catalog
from coterie.documents.model_windows import known_window
from coterie.documents.price_lists import known_price
from coterie.documents.product_capabilities import capabilities, finds_sandbox
from coterie.documents.skill_folders import with_skills
from coterie.documents.worker_trust import TrustedConfig, resolved
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument, listed, nearest
from coterie.dsl.model.plan import Plan
from coterie.dsl.strict_json import unsound_part
from coterie.dsl.values import Json
from coterie.settings import Settings, load

QUERY = "query"
"""The path of the context with what the agent is asked."""

_NUMBER = "#"
"""Separates the path of a function from the number of a further tool that has it."""

_OPENS_A_TEMPLATE = re.compile(r"\{(?=[{%#])")

_SCRIPTED = """
llm_config:
  default_provider: scripted
  providers: {scripted: {kind: scripted, mock: schema, default_model: demo}}
"""
"""Beneath all other settings, where a script answers: an agent then needs no model."""


class InvalidAgent(ValueError):
    """An agent cannot run; each line of the message is one problem."""


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """What an agent consists of, with all that it calls."""

    id: str
    class_name: str
    system_message: str
    settings: Json
    """Fields of its persona."""
    tools: tuple[AnyTool, ...]
    subagents: tuple["AgentDefinition", ...] = ()
    graph: SharedMemoryGraph | None = None
    overrides: tuple[str, ...] = ()
    """Methods with which the class changes how a run works: they exist in this process only."""
    name: str = field(default="", compare=False)
    """As a tool of others; empty if it is none."""
    description: str = field(default="", compare=False)
    stateless: bool = field(default=True, compare=False)
    retries: int = field(default=0, compare=False)

    def persona(self, tools: tuple[str, ...]) -> Json:
        """Return the persona of the agent, which has the tools of these names."""
        prompts: Json = {"user": f"{{{{ input.{QUERY} }}}}"}
        if self.system_message:
            literal = _OPENS_A_TEMPLATE.sub('{{ "{" }}', self.system_message)
            prompts = {"system": literal, **prompts}
        persona: Json = {**self.settings, "prompts": prompts}
        return {**persona, "tools": list(tools)} if tools else persona


class AgentDocument:
    """A document, and the functions that its tools call."""

    def __init__(self, agent: AgentDefinition, registry: ToolRegistry) -> None:
        """Write the document.

        Raises:
            InvalidTool: A tool cannot be used, or two tools or agents have the same name.
        """
        self.agent = agent
        self.functions: dict[str, DefinedTool] = {}
        """By the names of the document's tool functions, which their contracts have."""
        self.owners: dict[str, str] = {}
        """`{name of a tool function: the agent that has it as a tool}`."""
        self._registry = registry
        self._agents: dict[str, AgentDefinition] = {}
        self._personas: dict[str, JsonValue] = {}
        self._tools: dict[str, Json] = {}
        self._add_agent(agent)
        self._add_memory()

    @property
    def tree(self) -> Json:
        """The document as a tree."""
        id = self.agent.id
        step_input: Json = {QUERY: f"{{{{ context.{QUERY} }}}}"}
        step: Json = {"name": id, "persona_key": id, "input": step_input}
        tools: Json = {"tools": dict(self._tools)} if self._tools else {}
        return {
            "name": id,
            "llm_config": {"personas": dict(self._personas)},
            **tools,
            "orchestration": {
                "entry_team": id,
                "context": {QUERY: {"type": "string"}},
                "teams": {id: {"tasks": [step]}},
            },
        }

    def written(self) -> str:
        """Return the document as YAML."""
        return yaml.safe_dump(self.tree, sort_keys=False, allow_unicode=True)

    def _add_agent(self, agent: AgentDefinition) -> None:
        """Add an agent with its tools, which keep their order, and its subagents after them."""
        if self._agents.setdefault(agent.id, agent) != agent:
            raise InvalidTool(
                f"two different agents are called {agent.id!r}; give one another agent_id"
            )
        if agent.id in self._personas:
            return
        self._personas[agent.id] = None  # before those of its subagents
        tools = [self._add_tool(tool, agent) for tool in agent.tools]
        tools += [self._add_subagent(subagent) for subagent in agent.subagents]
        twice = sorted({name for name in tools if tools.count(name) > 1})
        if twice:
            raise InvalidTool(f"agent {agent.id!r} has several tools called {listed(twice)}")
        self._personas[agent.id] = agent.persona(tuple(tools))

    def _add_subagent(self, agent: AgentDefinition) -> str:
        if agent.overrides:
            raise InvalidTool(
                f"agent {agent.id!r} cannot be a subagent: {agent.class_name} overrides "
                f"{listed(agent.overrides)}(), and an orchestrator's model calls the agent's "
                "settings, not its Python; move the code into a tool"
            )
        section: Json = {"agent": agent.id, "description": agent.description}
        if not agent.stateless:
            section["stateful"] = True
        if agent.retries:
            section |= {"on_error": "retry", "retries": agent.retries}
        self._declare(agent.name, section)
        self._add_agent(agent)
        return agent.name

    def _add_tool(self, tool: AnyTool, agent: AgentDefinition) -> str:
        if isinstance(tool, str) and tool not in self._registry:
            return self._add_function(tool, agent)
        try:
            schema = self._registry.get(tool) if isinstance(tool, str) else schema_of(tool)
            function = self._function(ready_tool(schema))
        except InvalidTool as error:
            raise InvalidTool(f"agent {agent.id!r}: {error}") from None
        self.owners.setdefault(function.contract.name, agent.id)
        section: Json = {"skill": function.contract.name}
        if schema.description:
            section["description"] = schema.description
        if schema.timeout_seconds is not None:
            section["timeout"] = schema.timeout_seconds
        if schema.max_retries is not None and function.contract.effect != "once":
            section["retries"] = schema.max_retries
        if schema.labels:
            section["labels"] = list(schema.labels)
        if schema.requires_approval:
            section["requires_approval"] = True
        return self._declare(schema.name, section)

    def _add_function(self, tool_function: str, agent: AgentDefinition) -> str:
        """Add one of Coterie's own tool functions, `Files.read`, under the name `files_read`."""
        if "." not in tool_function or ":" in tool_function:
            names = self._registry.list()
            hint = nearest(tool_function, names)
            raise InvalidTool(
                f"agent {agent.id!r} names the tool {tool_function!r}, which is neither registered "
                f"nor a tool function like 'Files.read'; registered: {listed(names)}"
                + (f": {hint}" if hint else "")
            )
        return self._declare(name_of(tool_function), {"skill": tool_function})

    def _function(self, function: DefinedTool) -> DefinedTool:
        """Return the function under a tool function's name that no other function has."""
        name, number = function.contract.name, 1
        while True:
            namesake = self.functions.get(name)
            if namesake is None:
                contract = function.contract.model_copy(update={"name": name})
                self.functions[name] = namesake = replace(function, contract=contract)
            if is_same_tool(namesake.schema, function.schema):
                return namesake
            number += 1
            name = f"{function.contract.name}{_NUMBER}{number}"

    def _declare(self, name: str, section: Json) -> str:
        if self._tools.setdefault(name, section) != section:
            raise InvalidTool(
                f"two different tools are called {name!r}; the agents of a run share their tools' "
                "names, so give one of them another name"
            )
        return name

    def _add_memory(self) -> None:
        """Let the subagents read each other's work, as far as they are here."""
        tools = {id: agent.name for id, agent in self._agents.items() if agent is not self.agent}
        for edge in self.agent.graph or ():
            if edge.reader == self.agent.id:
                warnings.warn(
                    f"{edge.reader!r} reads the work of {edge.source!r} as the result of its "
                    "calls; an edge to the orchestrator itself does nothing",
                    stacklevel=2,
                )
            if edge.reader not in tools:
                continue  # the graph serves other orchestrators too
            if edge.source not in tools:
                warnings.warn(
                    f"{edge.reader!r} reads the work of {edge.source!r}, which is no subagent of "
                    f"{self.agent.id!r} here",
                    stacklevel=2,
                )
                continue
            reads = self._tools[tools[edge.reader]].setdefault("reads", [])
            assert isinstance(reads, list)
            reads.append({"from": tools[edge.source], "publish": edge.publish})


def shares_function(function: DefinedTool) -> bool:
    """Return whether another tool of the document has the same function with other terms."""
    return _NUMBER in function.contract.name


class CompiledAgent(NamedTuple):
    """An agent that is ready to run."""

    document: AgentDocument
    plan: Plan
    trusted: TrustedConfig
    settings: Settings


def compile_agent(
    agent: AgentDefinition,
    context: AgentContext,
    *,
    max_turns: int | None = None,
    durable: bool = False,
) -> CompiledAgent:
    """Compile the document of an agent with what its project configures.

    Args:
        agent: The agent that is asked.
        context: The program around it.
        max_turns: Of the agent, instead of its own.
        durable: A worker calls its functions, and its configuration says which send nothing out;
            else the program itself says it, by their labels.

    Raises:
        InvalidAgent: With every problem of the agent, its tools and subagents.
        InvalidTool: A tool cannot be used.
    """
    if max_turns is not None:
        agent = replace(agent, settings={**agent.settings, "max_turns": max_turns})
    settings = load(cwd=context.folder)
    document = AgentDocument(agent, context.tool_registry)
    unsound = unsound_part(document.tree)
    if unsound is not None:
        raise InvalidAgent(f"agent {agent.id!r}: {unsound}")
    own = {name: tool.contract for name, tool in document.functions.items()}
    sources = tuple(_sources(document, settings, scripted=context.script is not None))
    project_capabilities = capabilities(
        agent_packages=(),
        provider_packages=(),
        functions={**known_contracts(), **own},
        offline_tools=() if durable else ("*",),
        sandboxed=finds_sandbox(settings, sources),
    )
    try:
        compiled = compile_sources(
            sources, project_capabilities, name=agent.id, pricing=known_price, windows=known_window
        )
    except InvalidDocument as error:
        raise InvalidAgent(_problems(agent, error)) from None
    trusted = resolved(compiled.worker, compiled.providers, compiled.tree, settings)
    return CompiledAgent(document, compiled.plan, trusted, settings)


def _sources(
    document: AgentDocument, settings: Settings, *, scripted: bool
) -> Iterator[SourceText]:
    catalog = Catalog(settings)
    if scripted:
        yield SourceText("script", _SCRIPTED)
    for root in settings.config_roots[:1]:
        yield from catalog.system_source(root)
    source = SourceText(f"agent {document.agent.id}", json.dumps(document.tree, indent=1))
    yield with_skills(source, settings.cwd / "agent", settings.project, str)
    yield from catalog.override()


def _problems(agent: AgentDefinition, error: InvalidDocument) -> str:
    """Describe the problems by paths of the generated document, which has no file."""
    return "\n".join(
        f"agent {agent.id!r}: {problem.path or 'document'}: {problem.message} [{problem.code}]"
        + (f"; {problem.fix}" if problem.fix else "")
        for problem in error.problems
        if problem.severity == "error"
    )
