"""Build agents from the configurations of tasks."""

import inspect
from collections.abc import Collection, Mapping
from types import MappingProxyType

from coterie.activities.agents.agent_base import AgentServices, BaseAgent
from coterie.activities.agents.extension_agent import extension_agent
from coterie.activities.agents.legacy import LegacyAgent, check_agent_path
from coterie.activities.agents.orchestrator import GenericOrchestratingAgent
from coterie.activities.agents.refusals import AgentRefused, UnknownAgentType, UnknownPersona
from coterie.activities.agents.single_shot import GenericSingleShotAgent
from coterie.activities.agents.tool_calling import GenericToolCallingAgent
from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, SINGLE_SHOT, TOOL_CALLING
from coterie.dsl.values import Json

AgentTypes = Mapping[str, type[BaseAgent]]

ASKS_MODEL: AgentTypes = MappingProxyType(
    {SINGLE_SHOT: GenericSingleShotAgent, TOOL_CALLING: GenericToolCallingAgent}
)
"""Agent types whose turn is one model call."""

BUILT_IN: AgentTypes = MappingProxyType({**ASKS_MODEL, ORCHESTRATING: GenericOrchestratingAgent})
"""Agent types that Coterie provides; a worker may add its own."""


class AgentFactory:
    """Builds agents: `agent_type` selects the class, `persona_key` the behaviour."""

    def __init__(
        self,
        full_system_config: Json,
        agent_types: AgentTypes | None = None,
        *,
        agent_packages: Collection[str] = (),
        functions: Collection[str] = (),
        services: AgentServices | None = None,
    ) -> None:
        """Store the configuration, which is never modified.

        Args:
            full_system_config: `{"llm_config": {"personas": {...}, "agents": {...}}}`.
            agent_types: The worker's own types, beside the built-in ones.
            agent_packages: Packages that a legacy `agent_class` may be imported from.
            functions: Names of known tool functions, `Name.method`, to explain a mistaken agent
                type.
            services: The live collaborators that every agent gets.

        Raises:
            AgentRefused: An own type has a built-in name, or is not a subclass of BaseAgent.
        """
        self.full_system_config = full_system_config
        self._agent_types = {**BUILT_IN, **_check_agent_types(agent_types or {})}
        self._agent_packages = tuple(agent_packages)
        self._functions = tuple(functions)
        self._services = services or AgentServices()

    def create_agent(self, task_config: Json) -> BaseAgent:
        """Build the agent of a task.

        Args:
            task_config: The task as written in YAML: `name`, and either `agent_type`,
                `persona_key` and optionally `config` and `prompt`, or the legacy `agent_class`.

        Raises:
            AgentRefused: The task names no agent, or one that does not exist.
        """
        if task_config.get("agent_class") is not None:
            return self._create_legacy_agent(task_config)
        name = _required_key(task_config, "name")
        agent_type = _required_key(task_config, "agent_type")
        persona_key = _required_key(task_config, "persona_key")
        overrides = _mapping(task_config.get("config"), f"`config` of task {name!r}")
        if task_config.get("prompt") is not None:
            overrides = {**overrides, "prompt": task_config["prompt"]}
        agent_class = self._get_agent_class(agent_type)
        persona_config = self._get_persona_config(persona_key)
        merged_config = deep_merge(persona_config, overrides) if overrides else persona_config
        agent = agent_class(
            persona_config=merged_config,
            unique_name=name,
            full_config=self.full_system_config,
        )
        agent.attach(self._services)
        return agent

    def _get_agent_class(self, agent_type: str) -> type[BaseAgent]:
        agent_class = self._agent_types.get(agent_type)
        if agent_class is not None:
            return agent_class
        if ":" in agent_type and agent_type not in self._functions:
            check_agent_path(agent_type, self._agent_packages)
            return extension_agent(agent_type)
        if self._is_function(agent_type):
            raise UnknownAgentType(
                f"{agent_type!r} is a tool function, not an agent type. Agents are tasks of a "
                "team; call the tool function from an agent's execution_plan, in a step with "
                "`skill:`"
            )
        hint = nearest(agent_type, self._agent_types)
        raise UnknownAgentType(
            f"unknown agent_type {agent_type!r}; allowed: {listed(self._agent_types)}"
            + (f": {hint}" if hint else "")
        )

    def _get_persona_config(self, persona_key: str) -> Json:
        llm_config = _mapping(self.full_system_config.get("llm_config"), "`llm_config`")
        personas = _mapping(llm_config.get("personas"), "`llm_config.personas`")
        if persona_key not in personas:
            hint = nearest(persona_key, personas)
            raise UnknownPersona(
                f"unknown persona_key {persona_key!r}; `llm_config.personas` has "
                f"{listed(personas)}" + (f": {hint}" if hint else "")
            )
        return _mapping(personas[persona_key], f"`llm_config.personas.{persona_key}`")

    def _create_legacy_agent(self, task_config: Json) -> BaseAgent:
        name = _required_key(task_config, "name")
        for key in ("agent_type", "persona_key", "config"):
            if task_config.get(key) is not None:
                raise AgentRefused(
                    f"task {name!r} has both `agent_class` and `{key}`. A legacy agent reads "
                    "its section of `llm_config.agents`, a new one has `agent_type`, "
                    "`persona_key` and `config`; use only one of the two forms"
                )
        path = _required_key(task_config, "agent_class")
        check_agent_path(path, self._agent_packages)
        agent = LegacyAgent(path, unique_name=name, full_config=self.full_system_config)
        agent.attach(self._services)
        return agent

    def _is_function(self, name: str) -> bool:
        return "." in name or any(
            name in (function, function.split(".")[0]) for function in self._functions
        )


def _check_agent_types(agent_types: AgentTypes) -> AgentTypes:
    for name, agent_type in agent_types.items():
        if name in BUILT_IN:
            raise AgentRefused(f"agent type {name!r} is built in; give yours another name")
        if not (isinstance(agent_type, type) and issubclass(agent_type, BaseAgent)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise AgentRefused(f"agent type {name!r} must be a subclass of BaseAgent")
        if inspect.isabstract(agent_type):
            raise AgentRefused(f"agent type {name!r} must implement process(context)")
    return agent_types


def _required_key(task_config: Json, key: str) -> str:
    value = task_config.get(key)
    if isinstance(value, str) and value:
        return value
    task = task_config.get("name")
    where = f"task {task!r}" if task and key != "name" else "a task"
    raise AgentRefused(f"{where} needs `{key}`, a string")


def _mapping(value: object, what: str) -> Json:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise AgentRefused(f"{what} must be a mapping, not a {type(value).__name__}")
    return value  # pyright: ignore[reportUnknownVariableType]  # a part of a JSON value
