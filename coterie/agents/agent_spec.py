"""What a factory knows of a registered class."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Self, cast

from coterie.agents.agent_arguments import check_values
from coterie.agents.agent_definition import SETTINGS, check_subagent
from coterie.agents.agent_roles import is_subagent
from coterie.agents.python_agent import BaseAgent
from coterie.dsl.errors import nearest

_RENAMED = {
    "subagent_enabled": "expose_as_subagent",
    "subagent_stateless": "stateless",
}
"""Names of the first design, and what they are now."""
_SAID_BY_DECORATOR = ("subagent_name", "subagent_description", "stateless", "retries")


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
        known = tuple(one.name for one in fields(cls))
        refuse_unknown("AgentSpec()", (key for key in given if key not in known), known, "defaults")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        check_values("AgentSpec()", given)
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
        if now is not None:
            raise AttributeError(f"AgentSpec has no {name!r} any more: it is called {now!r}")
        raise AttributeError(f"AgentSpec has no {name!r}")


class _FrozenList(tuple[Any, ...]):
    """A list that nothing changes."""


def frozen(value: Any) -> Any:
    """Return dicts and lists, at any depth, so that nothing changes them; other values as is."""
    match value:
        case Mapping():
            items = cast("Mapping[str, Any]", value).items()
            return MappingProxyType({key: frozen(one) for key, one in items})
        case list():
            return _FrozenList(map(frozen, cast("list[Any]", value)))
        case _:
            return value


def thawed(value: Any) -> Any:
    """Return dicts and lists of one's own from those that `frozen` has returned."""
    match value:
        case MappingProxyType():
            items = cast("Mapping[str, Any]", value).items()
            return {key: thawed(one) for key, one in items}
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
    check_subagent(where, given["subagent_name"], given["retries"])
    named: dict[str, Any] = {key: one for key, one in given.items() if one is not None}
    named.setdefault("subagent_name", name)
    spec = AgentSpec(cls, **named)
    marked = spec.is_already_subagent()
    if marked:
        _warn_of_conflicts(name, cls, {key: given[key] for key in _SAID_BY_DECORATOR})
    if spec.expose_as_subagent and not (spec.subagent_description or marked):
        raise ValueError(
            f"{where}: expose_as_subagent=True requires subagent_description "
            f"because class {cls.__name__} is not decorated with @subagent"
        )
    return spec


def _warn_of_conflicts(name: str, cls: type[BaseAgent], given: Mapping[str, object]) -> None:
    """Report each argument of `register` that `@subagent` overrides; None is not given."""
    for key, mine in given.items():
        decorated = getattr(cls, key if key.startswith("subagent_") else f"subagent_{key}")
        if mine is not None and mine != decorated:
            warnings.warn(
                f"Agent '{name}': @subagent of {cls.__name__} says {key}={decorated!r}, which "
                f"wins over {key}={mine!r} of register()",
                stacklevel=4,
            )
