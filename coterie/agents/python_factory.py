"""The factory of agents in a program: register classes, create agents and orchestrators."""

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Never

from coterie.activities import factory as document_factory
from coterie.activities.agents import agent_base
from coterie.agents.agent_arguments import (
    ARGUMENTS,
    FLAG,
    NAMES,
    Wanted,
    check_values,
    checked_id,
    instance_of,
)
from coterie.agents.agent_spec import (
    AgentSpec,
    check_arguments,
    check_class,
    frozen,
    make_instance,
    missing_arguments,
    refuse_unknown,
    spec_of,
    thawed,
)
from coterie.agents.memory_graph import SharedMemoryGraph, warn_of_readers
from coterie.agents.python_agent import BaseAgent, orchestrator, subagent, subclass_of
from coterie.dsl.errors import nearest
from coterie.dsl.values import Json, JsonValue

_LOG = logging.getLogger(__name__)


_GRAPH = Wanted("a SharedMemoryGraph", instance_of(SharedMemoryGraph))
_MODES = {
    "agent": "create({name!r})",
    "orchestrator": "create({name!r}, as_orchestrator=True, subagents=[...])",
}
"""What to write instead of the modes of the first design."""
_OF_REGISTER = ("name", *(field.name for field in fields(AgentSpec)))


class AgentFactory(document_factory.AgentFactory):
    """Registers classes of agents, and creates agents with one configuration.

        factory = AgentFactory({"provider": "anthropic"})
        factory.register("weather", WeatherAgent, expose_as_subagent=True,
                         subagent_description="Weather expert")
        factory.register("planner", PlannerAgent)
        planner = factory.create("planner", subagents=["weather"])

    Later arguments win: `global_defaults`, then `defaults` of `register`, then those of `create`.
    A registered class is never changed.
    """

    def __init__(
        self,
        global_defaults: Mapping[str, Any] | None = None,
        *,
        defaults: Mapping[str, Any] | None = None,
        **unknown: Never,
    ) -> None:
        """Make an empty factory.

        Args:
            global_defaults: Arguments for the constructors of all agents.
            defaults: The older name of `global_defaults`.
            unknown: Refused, with the name that was meant.

        Raises:
            TypeError: An argument is unknown.
        """
        refuse_unknown("AgentFactory()", unknown, ("global_defaults",), "global_defaults")
        if defaults is not None:
            _warn_of_old_name("AgentFactory(defaults=...)", "AgentFactory(global_defaults=...)")
            global_defaults = {**defaults, **(global_defaults or {})}
        check_values(
            "AgentFactory()", {"global_defaults": global_defaults}, {"global_defaults": ARGUMENTS}
        )
        super().__init__({})
        self._global_defaults: Mapping[str, Any] = frozen(global_defaults or {})
        self._registry: dict[str, AgentSpec] = {}
        self._memory_graph: SharedMemoryGraph | None = None

    def register(
        self,
        name: str,
        cls: type[BaseAgent],
        *,
        expose_as_subagent: bool = False,
        subagent_name: str | None = None,
        subagent_description: str | None = None,
        stateless: bool | None = None,
        defaults: Mapping[str, Any] | None = None,
        subagents: Sequence[str] = (),
        retries: int | None = None,
        replace: bool = False,
        subagent_stateless: bool | None = None,
        **unknown: Never,
    ) -> "AgentFactory":
        """Register a class; return the factory, for chaining.

        Args:
            name: Names the agent here; the `agent_id` of what it creates.
            cls: A subclass of BaseAgent. What `@subagent` says of it wins over these arguments.
            expose_as_subagent: Its agents can be tools of orchestrators.
            subagent_name: The tool's name. Default: `name`.
            subagent_description: What an orchestrator's model reads.
            stateless: Each call is alone, and may run beside others. Default: true.
            defaults: Arguments of its constructor.
            subagents: Registered agents that it may always call, also as a subagent itself.
            retries: Additional attempts before an orchestrator sees a failure. Default: 0.
            replace: Take the place of another agent of this name.
            subagent_stateless: The older name of `stateless`.
            unknown: Refused, with the name that was meant.

        Raises:
            ValueError: The description or an argument is missing, or a name is invalid or taken.
            TypeError: An argument is unknown or of the wrong type, or `cls` is not an agent class.
        """
        refuse_unknown("register()", unknown, _OF_REGISTER, "defaults")
        if subagent_stateless is not None:
            _warn_of_old_name("register(subagent_stateless=...)", "register(stateless=...)")
            stateless = subagent_stateless
        checked_id(name)
        check_class(name, cls)
        check_values(f"Agent '{name}'", {"replace": replace}, {"replace": FLAG})
        settings = {
            "expose_as_subagent": expose_as_subagent,
            "subagent_name": subagent_name,
            "subagent_description": subagent_description,
            "stateless": stateless,
            "defaults": defaults,
            "subagents": subagents,
            "retries": retries,
        }
        self._put(name, spec_of(name, cls, settings), replace=replace)
        return self

    def _put(self, name: str, spec: AgentSpec, *, replace: bool) -> None:
        current_spec = self._registry.get(name, spec)
        if current_spec != spec and not replace:
            raise ValueError(
                f"another agent is already registered as {name!r}: {current_spec.cls.__name__}; "
                "choose another name, or replace it by replace=True"
            )
        # `create` may give the other arguments; a subagent gets no further ones.
        needed = () if spec.expose_as_subagent else ("system_message",)
        check_arguments(name, spec.cls, {**self._global_defaults, **spec.defaults}, only=needed)
        self._registry[name] = spec
        _LOG.info("AgentFactory: registered '%s' (%s)", name, spec.cls.__name__)

    def create(
        self,
        name: str,
        *,
        as_orchestrator: bool = False,
        subagents: Sequence[str] | None = None,
        **overrides: Any,
    ) -> BaseAgent:
        """Create an agent of a registered class.

        Args:
            name: The name under which the class is registered.
            as_orchestrator: Let it register subagents.
            subagents: Registered agents to attach, in this order; implies `as_orchestrator`.
            overrides: Arguments of the constructor, over all defaults.

        Raises:
            ValueError: An agent is not registered or not exposed, agents would call each other in a
                circle, or a required argument is missing.
            TypeError: The constructor does not take an argument, or `mode` is given.
        """
        if "mode" in overrides:
            raise TypeError(_instead_of_mode(name, overrides["mode"]))
        values = {"as_orchestrator": as_orchestrator, "subagents": subagents}
        check_values(f"Agent {name!r}", values, {"as_orchestrator": FLAG, "subagents": NAMES})
        if not self.is_registered(name):
            available = list(self._registry)
            raise ValueError(f"Agent '{name}' not registered. Available: {available}")
        spec = self._registry[name]
        config = {**self._global_defaults, **spec.defaults, **frozen(overrides)}
        subagent_names = tuple(dict.fromkeys((*spec.subagents, *(subagents or ()))))
        kind = spec.cls
        if as_orchestrator or subagent_names:
            kind = self._ensure_orchestrator_class(kind)
        if subagent_names:
            warn_of_readers(self._memory_graph, self._registry)
        return self._make_agent(name, kind, config, subagent_names, (name,), {})

    def create_agent(self, task_config: Json) -> agent_base.BaseAgent:
        """Create the one-turn agent of a task, as a worker does for a document.

        The personas are those of the registered agents, under their names: both doors give the same
        persona.
        """
        personas: dict[str, JsonValue] = {}
        for name, spec in self._registry.items():
            if not missing_arguments(spec.cls, {**self._global_defaults, **spec.defaults}):
                personas[name] = self.create(name).persona_config
        self.full_system_config = {"llm_config": {"personas": personas}}
        return super().create_agent(task_config)

    def with_memory_graph(self, graph: SharedMemoryGraph) -> "AgentFactory":
        """Give a graph to all agents that are created from now on; return the factory.

        Subagents of one orchestrator then read each other's work along its edges.
        """
        check_values("with_memory_graph()", {"graph": graph}, {"graph": _GRAPH})
        self._memory_graph = graph
        _LOG.info("AgentFactory: memory graph attached (%d edges)", len(graph))
        return self

    def get_registered_names(self) -> list[str]:
        """Return the names of all registered agents."""
        return list(self._registry)

    def is_registered(self, name: str) -> bool:
        """Return whether an agent of this name is registered."""
        return isinstance(name, str) and name in self._registry  # pyright: ignore[reportUnnecessaryIsInstance]

    def get_spec(self, name: str) -> AgentSpec | None:
        """Return the specification of a registered agent, or None."""
        return self._registry.get(name)

    def _make_agent(
        self,
        name: str,
        kind: type[BaseAgent],
        config: Mapping[str, Any],
        subagents: Sequence[str],
        above: tuple[str, ...],
        shared: dict[str, BaseAgent],
    ) -> BaseAgent:
        """Make an agent with its subagents.

        `above` are the agents that lead here, `shared` the subagents that this `create` has made.
        """
        check_arguments(name, kind, config, ("as_orchestrator", "subagents"))
        agent = make_instance(name, kind, thawed(frozen(config)))
        agent.agent_id = name
        agent.memory_graph = self._memory_graph
        for subagent_name in subagents:
            agent.register_agent(self._create_subagent_instance(subagent_name, above, shared))
        return agent

    def _create_subagent_instance(
        self, name: str, above: tuple[str, ...], shared: dict[str, BaseAgent]
    ) -> BaseAgent:
        spec = self._registry.get(name)
        if spec is None:
            hint = nearest(name, self._registry)
            raise ValueError(f"Subagent '{name}' not registered" + (f"; {hint}" if hint else ""))
        if not spec.expose_as_subagent:
            raise ValueError(
                f"Agent '{name}' is not exposed as subagent. "
                "Set expose_as_subagent=True in register()"
            )
        if name in above:
            circle = " -> ".join((*above[above.index(name) :], name))
            raise ValueError(f"agents would call each other in a circle: {circle}")
        if name in shared:
            return shared[name]
        kind = self._ensure_subagent_class(spec, name)
        if spec.subagents:
            kind = self._ensure_orchestrator_class(kind)
        config = {**self._global_defaults, **spec.defaults}
        shared[name] = self._make_agent(name, kind, config, spec.subagents, (*above, name), shared)
        return shared[name]

    def _ensure_orchestrator_class(self, cls: type[BaseAgent]) -> type[BaseAgent]:
        """Return the class if it is marked, else a marked subclass of it."""
        if getattr(cls, "_is_orchestrator", False):
            return cls
        return orchestrator(subclass_of(cls, "Orchestrator"))

    def _ensure_subagent_class(self, spec: AgentSpec, name: str) -> type[BaseAgent]:
        """Return the class if it is marked, else a marked subclass of it."""
        if spec.is_already_subagent():
            return spec.cls
        mark = subagent(
            name=spec.subagent_name or name,
            description=spec.subagent_description or "",
            stateless=spec.stateless,
            retries=spec.retries,
        )
        return mark(subclass_of(spec.cls, "SubAgent"))


def _instead_of_mode(name: str, mode: object) -> str:
    """Say how to create an agent without the modes of the first design."""
    form = _MODES.get(mode) if isinstance(mode, str) else None
    if form is not None:
        return f"create() has no `mode` any more; write {form.format(name=name)}"
    hint = nearest(mode, _MODES) if isinstance(mode, str) else ""
    forms = ", or ".join(form.format(name=name) for form in _MODES.values())
    return (
        f"create() has no `mode` any more, and {mode!r} was none"
        + (f" ({hint})" if hint else "")
        + f"; write {forms}"
    )


def _warn_of_old_name(old: str, new: str) -> None:
    warnings.warn(f"{old} is now {new}", DeprecationWarning, stacklevel=3)
