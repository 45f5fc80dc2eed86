"""The base class of agents in a program."""

import asyncio
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import ClassVar

from pydantic import BaseModel, JsonValue

from coterie.activities.agents import agent_base
from coterie.activities.contracts import AgentError, AgentResponse
from coterie.agents.agent_arguments import OF_AGENTS, check_values
from coterie.agents.agent_compilation import CompiledAgent, compile_agent
from coterie.agents.agent_definition import (
    AgentDefinition,
    AgentTool,
    SubagentDefinition,
    check_settings,
    checked_id,
    id_of,
    schema_of_answer,
    without_system_message,
)
from coterie.agents.agent_documents import (
    described_persona,
    name_of,
    query_context,
    query_of,
    written_document,
)
from coterie.agents.agent_roles import is_subagent
from coterie.agents.agent_runs import AgentRun
from coterie.agents.agent_state import AgentState
from coterie.agents.durable_agents import DurableRun, check_durable, start_durably
from coterie.agents.in_process_world import AgentContext
from coterie.agents.memory_graph import SharedMemoryGraph
from coterie.dsl.values import Json
from coterie.settings import Settings, load

_BEHAVIOUR = ("begin", "definition", "process", "run")
"""Methods that make a run what it is."""


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
        tools: Sequence[AgentTool] = (),
        output_schema: Json | type[BaseModel] | None = None,
        **settings: JsonValue,
    ) -> None:
        """Make an agent.

        Args:
            system_message: Default: what the class says.
            agent_id: Names it in runs and in a memory graph. Default: the name of the class, as
                `weather_agent`.
            tools: Functions, instances of BaseTool, definitions, names, skills like `Files.read`.
            output_schema: JSON Schema of the answer, or a pydantic model.
            settings: Other fields of a persona: `provider`, `model`, `temperature`, `max_turns`,
                `tool_policy`, ...

        Raises:
            ValueError: There is no system message, or the id is invalid.
            TypeError: There is no such setting, naming the nearest, or a value has the wrong type.
        """
        kind = type(self)
        check_settings(kind.__name__, settings)
        if system_message is not None:
            self.system_message = system_message
        given = {"system_message": self.system_message, "tools": tools, "agent_id": agent_id}
        check_values(kind.__name__, given, OF_AGENTS)
        if not self.system_message:
            raise ValueError(without_system_message(kind.__name__))
        if output_schema is not None:
            settings["output_schema"] = schema_of_answer(kind.__name__, output_schema)
        self.settings: Json = {
            key: deepcopy(one) for key, one in settings.items() if one is not None
        }
        self.memory_graph: SharedMemoryGraph | None = None
        self._tools: list[AgentTool] = list(tools or ())
        self._subagents: list[tuple[SubagentDefinition, BaseAgent]] = []
        super().__init__({}, checked_id(agent_id or id_of(kind.__name__)), {})
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
        return (*map(name_of, self._tools), *(called.name for called, _ in self._subagents))

    def register_tool(self, tool: AgentTool) -> None:
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
        name: str = getattr(other, "subagent_name", "")
        if agent is self or self in agent.all_subagents():
            raise ValueError(
                f"agents would call each other in a circle: {self.agent_id} -> {agent.agent_id} "
                f"-> {self.agent_id}"
            )
        if name in self.tools:
            raise ValueError(f"agent {self.agent_id!r} already has a tool called {name!r}")
        called = SubagentDefinition(
            name=name,
            description=getattr(other, "subagent_description", ""),
            agent=agent.definition(),
            stateless=getattr(other, "subagent_stateless", True),
            retries=getattr(other, "subagent_retries", 0),
        )
        self._subagents.append((called, agent))
        self._describe()

    def all_subagents(self) -> "list[BaseAgent]":
        """Return the agents that it may call, directly or through others."""
        own = [agent for _, agent in self._subagents]
        return own + [below for agent in own for below in agent.all_subagents()]

    def definition(self) -> AgentDefinition:
        """Return what it consists of, with all its subagents as they are now."""
        kind = type(self)
        changed = [
            name for name in _BEHAVIOUR if getattr(kind, name) is not getattr(BaseAgent, name)
        ]
        return AgentDefinition(
            id=self.agent_id,
            class_name=kind.__name__,
            system_message=self.system_message,
            settings=dict(self.settings),
            tools=tuple(self._tools),
            subagents=tuple(
                replace(called, agent=agent.definition()) for called, agent in self._subagents
            ),
            graph=self.memory_graph,
            overrides=tuple(changed),
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
        settings = load(cwd=around.folder)
        compiled = self._compile_agent(settings, around, max_iterations, durable=False)
        return AgentRun(compiled, settings, around).start(query_context(query))

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
        state = await self.run(query_of(context))
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
        return written_document(self.durable(context).document)

    async def start(
        self, query: str, *, id: str | None = None, context: AgentContext | None = None
    ) -> DurableRun:
        """Start a run on Temporal, for the project's workers; do not wait for it.

        Raises:
            ValueError: A worker cannot run the agent; names each lambda, closure or method.
            CommandError: There is no server, or the id is taken.
        """
        given, around = query_context(query), context or AgentContext()
        settings = load(cwd=around.folder)
        return await start_durably(self._durable(settings, around), settings, given, id)

    def compiled(self, context: AgentContext | None = None) -> CompiledAgent:
        """Return the agent's document and the plan of its runs in this process.

        Raises:
            ValueError: The agent cannot run; says every reason.
        """
        around = context or AgentContext()
        return self._compile_agent(load(cwd=around.folder), around, None, durable=False)

    def durable(self, context: AgentContext | None = None) -> CompiledAgent:
        """Return the agent's document and the plan of its runs on Temporal.

        Raises:
            ValueError: A worker cannot run the agent; names each lambda, closure or method.
        """
        around = context or AgentContext()
        return self._durable(load(cwd=around.folder), around)

    def _durable(self, settings: Settings, around: AgentContext) -> CompiledAgent:
        made = self._compile_agent(settings, around, None, durable=True)
        return check_durable(self.definition(), made)

    def _compile_agent(
        self, settings: Settings, around: AgentContext, max_turns: int | None, *, durable: bool
    ) -> CompiledAgent:
        return compile_agent(
            self.definition(),
            around.tool_registry,
            settings,
            scripted=around.script is not None,
            max_turns=max_turns,
            durable=durable,
        )

    def _describe(self) -> None:
        """Keep the persona in step with the agent."""
        self.persona_config = described_persona(self.definition())
        vars(self).pop("persona", None)  # a cached property of the base class
