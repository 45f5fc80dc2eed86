"""The base class of agents in a program, and the marks of its classes."""

import asyncio
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, ClassVar, TypeVar, cast

from pydantic import BaseModel, JsonValue

from coterie.activities.agents import agent_base
from coterie.activities.contracts import AgentError, AgentResponse
from coterie.agents.agent_arguments import (
    FLAG,
    OF_AGENTS,
    RETRIES,
    SCHEMA,
    TEXT,
    check_tool_name,
    check_values,
    checked_id,
)
from coterie.agents.agent_documents import QUERY, AgentDefinition, CompiledAgent, compile_agent
from coterie.agents.agent_runs import AgentRun
from coterie.agents.agent_state import AgentState
from coterie.agents.durable_agents import DurableRun, check_durable, start_durably
from coterie.agents.in_process_world import AgentContext
from coterie.agents.memory_graph import SharedMemoryGraph
from coterie.agents.tool_definitions import AnyTool, InvalidTool, name_of
from coterie.dsl.errors import nearest
from coterie.dsl.json_schema.argument_schemas import schema_of_properties
from coterie.dsl.model.steps import PersonaDocument
from coterie.dsl.strict_json import unsound_part
from coterie.dsl.values import Json

_BEHAVIOUR = ("begin", "definition", "process", "run")
"""Methods that make a run what it is."""

_OF_DOCUMENTS = {
    "prompts",
    "prompt",
    "prompt_syntax",
    "tools",
    "subagents",
    "exclude_tools",
    "handoffs",
    "execution_plan",
}
SETTINGS: tuple[str, ...] = tuple(
    name for name in PersonaDocument.model_fields if name not in _OF_DOCUMENTS
)
"""The fields of a persona that an agent takes as settings; the others come from its tools and its
system message, or belong to documents."""

_MARKED = ("name", "description", "stateless", "retries", "schema")
"""What `@subagent` sets, as `subagent_name` and so on."""
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class BaseAgent(agent_base.BaseAgent):
    """An agent: a system message, a model, tools, and the settings of a persona.

        class WeatherAgent(BaseAgent):
            system_message = "You know the weather."

            def __init__(self, **settings: Any) -> None:
                super().__init__(tools=[forecast], **settings)

    `await agent.run("...")` works in this process; `await agent.start("...")` on Temporal.
    """

    system_message: str = ""
    """What the model reads first, word for word. A class may set it for all its agents."""
    _is_orchestrator: ClassVar[bool] = False

    def __init__(
        self,
        system_message: str | None = None,
        *,
        agent_id: str | None = None,
        tools: Sequence[AnyTool] = (),
        output_schema: Json | type[BaseModel] | None = None,
        **settings: JsonValue,
    ) -> None:
        """Make an agent.

        Args:
            system_message: Default: what the class says.
            agent_id: Names it in runs and in a memory graph. Default: the name of the class, as
                `weather_agent`.
            tools: Functions, instances of BaseTool, definitions, names, tool functions like
                `Files.read`.
            output_schema: JSON Schema of the answer, or a pydantic model.
            settings: Other fields of a persona: `provider`, `model`, `temperature`, `max_turns`,
                `tool_policy`, ...

        Raises:
            ValueError: There is no system message, or the id is invalid.
            TypeError: There is no such setting, naming the nearest, or a value has the wrong type.
        """
        kind = type(self).__name__
        for name in settings:
            if name not in SETTINGS:
                raise TypeError(unknown_setting(kind, name, SETTINGS))
        if system_message is not None:
            self.system_message = system_message
        values = {"system_message": self.system_message, "tools": tools, "agent_id": agent_id}
        check_values(kind, values, OF_AGENTS)
        if not self.system_message:
            raise ValueError(
                f"{kind} has no `system_message`: pass it to the constructor, set it in the "
                "class, or give it to the factory in `defaults`"
            )
        settings["output_schema"] = _schema_of_answer(kind, output_schema)
        self.settings: Json = {
            key: deepcopy(value) for key, value in settings.items() if value is not None
        }
        self.memory_graph: SharedMemoryGraph | None = None
        self._tools: list[AnyTool] = list(tools or ())
        self._subagents: list[BaseAgent] = []
        id = agent_id or _WORD.sub("_", kind).lower().strip("_")
        super().__init__({}, checked_id(id), {})
        self._describe()

    @property
    def agent_id(self) -> str:
        """The agent's name in runs, and in a memory graph."""
        return self.unique_name

    @agent_id.setter
    def agent_id(self, name: str) -> None:
        self.unique_name = checked_id(name)

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of its tools in the order in which its model sees them, subagents last."""
        return (
            *map(name_of, self._tools),
            *(_mark(agent, "name", "") for agent in self._subagents),
        )

    def register_tool(self, tool: AnyTool) -> None:
        """Add a tool after those that it has."""
        self._tools.append(tool)
        self._describe()

    def register_agent(self, agent: "BaseAgent") -> None:
        """Make another agent a tool of this one.

        Raises:
            TypeError: This class is not marked with `@orchestrator`, or that one not with
                `@subagent`.
            ValueError: The agents would call each other in a circle, or a tool has that name.
        """
        mine, other = type(self), type(agent)
        if not self._is_orchestrator:
            raise TypeError(
                f"{mine.__name__} is not an orchestrator: mark it with @orchestrator, or create "
                "it with AgentFactory.create(..., as_orchestrator=True)"
            )
        if not is_subagent(other):
            raise TypeError(
                f"{other.__name__} is not a subagent: mark it with @subagent(name=..., "
                "description=...), or register it with expose_as_subagent=True"
            )
        if agent is self or self in agent.all_subagents():
            raise ValueError(
                f"agents would call each other in a circle: {self.agent_id} -> {agent.agent_id} "
                f"-> {self.agent_id}"
            )
        name = _mark(agent, "name", "")
        if name in self.tools:
            raise ValueError(f"agent {self.agent_id!r} already has a tool called {name!r}")
        self._subagents.append(agent)
        self._describe()

    def all_subagents(self) -> "list[BaseAgent]":
        """Return the agents that it may call, directly or through others."""
        below = [other for agent in self._subagents for other in agent.all_subagents()]
        return self._subagents + below

    def definition(self) -> AgentDefinition:
        """Return what it consists of, with all its subagents as they are now."""
        kind = type(self)
        return AgentDefinition(
            id=self.agent_id,
            class_name=kind.__name__,
            system_message=self.system_message,
            settings=dict(self.settings),
            tools=tuple(self._tools),
            subagents=tuple(agent.definition() for agent in self._subagents),
            graph=self.memory_graph,
            overrides=tuple(
                name for name in _BEHAVIOUR if getattr(kind, name) is not getattr(BaseAgent, name)
            ),
            name=_mark(self, "name", ""),
            description=_mark(self, "description", ""),
            stateless=_mark(self, "stateless", True),
            retries=_mark(self, "retries", 0),
        )

    def begin(
        self,
        query: str,
        *,
        context: AgentContext | None = None,
        max_iterations: int | None = None,
    ) -> AgentRun:
        """Begin a run in this process, in the background of the running event loop.

        Args:
            query: What the agent is asked.
            context: The program's tools, project, and answers for tests.
            max_iterations: Model turns with tools, instead of the agent's `max_turns`.

        Raises:
            ValueError: The agent cannot run; says every reason.
        """
        around = context or AgentContext()
        compiled = compile_agent(self.definition(), around, max_turns=max_iterations)
        return AgentRun(compiled, around).start(_query_context(query))

    async def run(
        self,
        query: str,
        *,
        context: AgentContext | None = None,
        max_iterations: int | None = None,
    ) -> AgentState:
        """Run in this process as `begin` does, and return the state at the end.

        A run that asks a person is left, with the status `paused`; `begin` lets a program answer.
        """
        run = self.begin(query, context=context, max_iterations=max_iterations)
        try:
            return await run.result()
        finally:
            await run.cancel()

    def run_sync(
        self,
        query: str,
        *,
        context: AgentContext | None = None,
        max_iterations: int | None = None,
    ) -> AgentState:
        """Run as `run` does, in a program without an event loop."""
        return asyncio.run(self.run(query, context=context, max_iterations=max_iterations))

    async def process(self, context: Json) -> AgentResponse:
        """Answer the `input` of a context, or the `query` in its `input` or `context`."""
        state = await self.run(_query_of(context))
        if state.status == "completed":
            return AgentResponse(data=state.data)
        message = state.error or f"the run waits for a person: {state.pause_reason}"
        error = AgentError(type=state.error_type or "ApprovalPending", message=message)
        return AgentResponse(success=False, error=error)

    def to_yaml(self, context: AgentContext | None = None) -> str:
        """Return the agent as a document, which `coterie run FILE --set query=...` runs.

        Raises:
            ValueError: A worker cannot run the agent; names each lambda, closure or method.
        """
        return self.durable(context).document.written()

    async def start(
        self, query: str, *, id: str | None = None, context: AgentContext | None = None
    ) -> DurableRun:
        """Start a run on Temporal, for the project's workers; do not wait for it.

        Raises:
            ValueError: A worker cannot run the agent; names each lambda, closure or method.
            CommandError: There is no server, or the id is taken.
        """
        query_context = _query_context(query)
        return await start_durably(self.durable(context), query_context, id)

    def compiled(self, context: AgentContext | None = None) -> CompiledAgent:
        """Return the agent's document and the plan of its runs in this process.

        Raises:
            ValueError: The agent cannot run; says every reason.
        """
        return compile_agent(self.definition(), context or AgentContext())

    def durable(self, context: AgentContext | None = None) -> CompiledAgent:
        """Return the agent's document and the plan of its runs on Temporal.

        Raises:
            ValueError: A worker cannot run the agent; names each lambda, closure or method.
        """
        context = context or AgentContext()
        return check_durable(compile_agent(self.definition(), context, durable=True))

    def _describe(self) -> None:
        """Keep the persona in step with the agent."""
        try:
            self.persona_config = self.definition().persona(self.tools)
        except InvalidTool as error:
            raise InvalidTool(f"agent {self.agent_id!r}: {error}") from None
        vars(self).pop("persona", None)  # a cached property of the base class


Kind = TypeVar("Kind", bound=type[Any])
Value = TypeVar("Value", str, bool, int)


def subagent(
    name: str, description: str = "", stateless: bool = True, *, retries: int = 0
) -> Callable[[Kind], Kind]:
    """Mark a class whose agents can be tools of orchestrators; it changes nothing else.

    Args:
        name: The name of the tool.
        description: What an orchestrator's model reads.
        stateless: Each call is alone and may run beside others. Otherwise the agent has one
            conversation in the whole run, and works on one call at a time.
        retries: Additional attempts of a failed call before the orchestrator sees the failure.

    Raises:
        ValueError: The name or the description is empty, or an argument is invalid.
        TypeError: An argument has the wrong type, or the decorator has no arguments.
    """
    if isinstance(name, type):
        raise TypeError("@subagent needs arguments: write @subagent(name=..., description=...)")
    values = {"name": name, "description": description, "stateless": stateless, "retries": retries}
    kinds = {"name": TEXT, "description": TEXT, "stateless": FLAG, "retries": RETRIES}
    check_values("@subagent", values, kinds)
    if not name or not description:
        raise ValueError("@subagent needs a name and a description: a model chooses by them")
    check_tool_name("@subagent", name)

    def mark(kind: Kind) -> Kind:
        for key, value in {**values, "schema": schema_of_properties({})}.items():
            setattr(kind, f"subagent_{key}", value)
        return kind

    return mark


def orchestrator(kind: Kind) -> Kind:
    """Mark a class whose agents can have subagents: enables `register_agent`."""
    kind._is_orchestrator = True
    return kind


def is_subagent(kind: type[Any]) -> bool:
    """Return whether a class itself is marked with `@subagent`.

    A subclass is another agent: it inherits neither the name nor the description of a tool.
    """
    return "subagent_name" in vars(kind)


def subclass_of(kind: Kind, suffix: str) -> Kind:
    """Return a subclass of the factory's own, marked as the class is."""
    own: dict[str, object] = {"__module__": kind.__module__}
    if is_subagent(kind):
        own |= {f"subagent_{key}": getattr(kind, f"subagent_{key}") for key in _MARKED}
    return cast("Kind", type(f"{kind.__name__}{suffix}", (kind,), own))


def _mark(agent: BaseAgent, key: str, default: Value) -> Value:
    return getattr(agent, f"subagent_{key}", default)


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


def _schema_of_answer(kind: str, schema: object) -> Json | None:
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return schema.model_json_schema()
    values = {"output_schema": cast("object", schema)}
    check_values(kind, values, {"output_schema": SCHEMA})
    return cast("Json | None", schema)


def _query_of(context: Json) -> str:
    """Return what the agent of a document is asked: its `input`, or the `query` within it."""
    for part in (context.get("input"), context.get("context")):
        query = part.get(QUERY) if isinstance(part, dict) else part
        if isinstance(query, str):
            return query
    raise ValueError(f"the context has no text under `input`, or under `{QUERY}` within it")


def _query_context(query: str) -> Json:
    context: Json = {QUERY: query}
    unsound = unsound_part(context)
    if unsound is not None:
        raise ValueError(f"in the context, {unsound}")
    return context
