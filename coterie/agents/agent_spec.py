"""What a factory knows of a registered class, and checks before it calls the constructor."""

import inspect
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Self, cast

from coterie.agents.agent_arguments import OF_AGENTS, check_tool_name, check_values
from coterie.agents.python_agent import SETTINGS, BaseAgent, is_subagent, unknown_setting
from coterie.dsl.errors import nearest

_RENAMED = {
    "subagent_enabled": "expose_as_subagent",
    "subagent_stateless": "stateless",
}
"""Names of the first design, and what they are now."""
_SAID_BY_DECORATOR = ("subagent_name", "subagent_description", "stateless", "retries")
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """Immutable specification of a registered agent."""

    cls: type[BaseAgent]
    expose_as_subagent: bool = False
    subagent_name: str | None = None
    """The tool's name. Default: the name under which the agent is registered."""
    subagent_description: str | None = None
    stateless: bool = True
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arguments of the constructor. Lists are tuples here: nothing changes a specification."""
    subagents: tuple[str, ...] = ()
    """Registered agents that every agent of this spec may call."""
    retries: int = 0
    """Additional attempts of a failed call as a subagent."""

    def __new__(cls, /, *args: object, **given: object) -> Self:
        """Refuse unknown arguments before `__init__` does, with the names that were meant."""
        names = tuple(attribute.name for attribute in fields(cls))
        refuse_unknown("AgentSpec()", (key for key in given if key not in names), names, "defaults")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        check_values(
            "AgentSpec()",
            {attribute.name: getattr(self, attribute.name) for attribute in fields(self)},
        )
        object.__setattr__(self, "defaults", frozen(self.defaults))
        object.__setattr__(self, "subagents", tuple(self.subagents))

    def is_already_subagent(self) -> bool:
        """Return whether the class is marked with `@subagent`."""
        return is_subagent(self.cls)

    def is_already_orchestrator(self) -> bool:
        """Return whether the class is marked with `@orchestrator`."""
        return bool(getattr(self.cls, "_is_orchestrator", False))

    def __getattr__(self, name: str) -> object:
        now = _RENAMED.get(name)
        raise AttributeError(
            f"AgentSpec has no {name!r}" + (f" any more: it is called {now!r}" if now else "")
        )


class _FrozenList(tuple[Any, ...]):
    """A list that nothing changes."""


def frozen(value: Any) -> Any:
    """Return dicts and lists, at any depth, so that nothing changes them; other values as is."""
    match value:
        case Mapping():
            items = cast("Mapping[str, Any]", value).items()
            return MappingProxyType({key: frozen(part) for key, part in items})
        case list():
            return _FrozenList(map(frozen, cast("list[Any]", value)))
        case _:
            return value


def thawed(value: Any) -> Any:
    """Return dicts and lists of one's own from those that `frozen` has returned."""
    match value:
        case MappingProxyType():
            items = cast("Mapping[str, Any]", value).items()
            return {key: thawed(part) for key, part in items}
        case _FrozenList():
            return list(map(thawed, value))
        case _:
            return value


def refuse_unknown(call: str, given: Iterable[str], known: Sequence[str], settings: str) -> None:
    """Refuse arguments that a call does not take.

    Args:
        call: What is called, as written.
        given: The unknown arguments.
        known: The arguments that it takes.
        settings: The one that holds arguments of constructors.

    Raises:
        TypeError: Names the first one, and what to write instead.
    """
    for name in given:
        now = _RENAMED.get(name)
        if now is not None and now in known:
            raise TypeError(f"{call} has no {name!r} any more: it is called {now!r}")
        hint = nearest(name, known)
        if name in (*SETTINGS, "system_message", "tools"):
            hint = f"write {settings}={{{name!r}: ...}}"
        raise TypeError(f"{call} takes no {name!r}" + (f"; {hint}" if hint else ""))


def spec_of(name: str, cls: type[BaseAgent], given: Mapping[str, Any]) -> AgentSpec:
    """Return the specification of a class from the arguments of `register`; None is a default.

    Raises:
        ValueError: The description is missing, or a name or a number is invalid.
        TypeError: An argument has the wrong type.
    """
    where = f"Agent '{name}'"
    check_values(where, given)
    check_tool_name(where, given["subagent_name"])
    values: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    values.setdefault("subagent_name", name)
    spec = AgentSpec(cls, **values)
    marked = spec.is_already_subagent()
    for key in _SAID_BY_DECORATOR if marked else ():
        mine = given[key]
        decorated = getattr(cls, key if key.startswith("subagent_") else f"subagent_{key}")
        if mine is not None and mine != decorated:
            warnings.warn(
                f"Agent '{name}': @subagent of {cls.__name__} says {key}={decorated!r}, which "
                f"wins over {key}={mine!r} of register()",
                stacklevel=3,
            )
    if spec.expose_as_subagent and not (spec.subagent_description or marked):
        raise ValueError(
            f"{where}: expose_as_subagent=True requires subagent_description "
            f"because class {cls.__name__} is not decorated with @subagent"
        )
    return spec


def check_class(name: str, cls: object) -> None:
    """Refuse what is not a class of agents.

    Raises:
        TypeError: Says what to write instead.
    """
    if isinstance(cls, BaseAgent):
        kind = type(cls).__name__
        raise TypeError(f"Agent '{name}': cls is an instance of {kind}; pass the class: {kind}")
    if not (isinstance(cls, type) and issubclass(cls, BaseAgent)):
        description = (
            cls.__name__ if isinstance(cls, type) else f"an instance of {type(cls).__name__}"
        )
        raise TypeError(
            f"Agent '{name}': cls is {description}; pass a subclass of BaseAgent of coterie.agents"
        )


def check_arguments(
    name: str,
    cls: type[BaseAgent],
    config: Mapping[str, object],
    beside: Collection[str] = (),
    only: Collection[str] = (),
) -> None:
    """Refuse arguments that the constructor does not take, and missing ones.

    Args:
        name: Of the agent.
        cls: Of the agent.
        config: The arguments.
        beside: Other names that a person may have meant.
        only: The arguments that must be there; empty for all that the constructor needs.

    Raises:
        TypeError: Names the first unknown one, and the nearest that exists.
        ValueError: Names those that are missing, and where to give them.
    """
    values = {"system_message": config.get("system_message", cls.system_message)}
    check_values(f"Agent '{name}'", values, OF_AGENTS)
    parameters = inspect.signature(cls).parameters
    own = [key for key, parameter in parameters.items() if parameter.kind not in _VARIADIC]
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    names = [*own, *(SETTINGS if open_ended else ())]
    passed_on = ("system_message", "tools", "agent_id", "output_schema") if open_ended else ()
    otherwise = "name the constructor's own arguments explicitly" if open_ended else ""
    for key in config:
        if key not in names and key not in passed_on:
            unknown = unknown_setting(cls.__name__, key, [*names, *beside], otherwise)
            raise TypeError(f"Agent '{name}': {unknown}")
    agent_id = config.get("agent_id", name)
    if agent_id != name:
        raise TypeError(
            f"Agent '{name}': `agent_id` is the registered name, so register the class as "
            f"{agent_id!r}, or leave agent_id={agent_id!r} out"
        )
    missing = [key for key in missing_arguments(cls, config) if not only or key in only]
    if missing:
        where = (
            "set it in the class, or pass it in `defaults` of register()"
            if "system_message" in missing
            else "pass it in `defaults` of register(), or to create()"
        )
        needed = ", ".join(f"`{key}`" for key in missing)
        raise ValueError(f"Agent '{name}': {cls.__name__} needs {needed}; {where}")


def missing_arguments(cls: type[BaseAgent], config: Mapping[str, object]) -> list[str]:
    """Return the names of the arguments that the constructor needs and the configuration lacks.

    The system message is one of them, unless a constructor of the class's own may write it.
    """
    missing = [
        name
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in _VARIADIC
        and name not in config
    ]
    instructions = cls.system_message or config.get("system_message")
    if not instructions and "system_message" not in missing and cls.__init__ is BaseAgent.__init__:
        missing.insert(0, "system_message")
    return missing


def make_instance(name: str, cls: type[BaseAgent], config: Mapping[str, Any]) -> BaseAgent:
    """Call the constructor of an agent with its arguments.

    Raises:
        TypeError: The constructor raised one; names the agent and its arguments.
        ValueError: The constructor raised something else.
    """
    try:
        return cls(**config)
    except Exception as error:
        is_type = isinstance(error, TypeError)
        message = _failed_constructor(name, cls, config, error)
        raise (TypeError if is_type else ValueError)(message) from error


def _failed_constructor(
    name: str, cls: type[BaseAgent], config: Mapping[str, object], error: Exception
) -> str:
    own = inspect.signature(cls).parameters
    if "system_message" in config and "system_message" not in own and isinstance(error, TypeError):
        return (
            f"Agent '{name}': the constructor of {cls.__name__} writes its own system message, and "
            "`system_message` is in the defaults, too; leave it out of the defaults, or name "
            "`system_message` as an argument of the constructor"
        )
    problem = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    suffix = f" (arguments: {', '.join(config)})" if config else ""
    return f"Agent '{name}': the constructor of {cls.__name__} failed: {problem}{suffix}"
