"""What a factory knows of a registered class."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from coterie.agents.python_agent import BaseAgent

_RENAMED = {
    "subagent_enabled": "expose_as_subagent",
    "subagent_stateless": "stateless",
}
"""Names of the first design, and what they are now."""


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
    """Arguments of the constructor."""
    subagents: tuple[str, ...] = ()
    """Registered agents that every agent of this spec may call."""
    retries: int = 0
    """Additional attempts of a failed call as a subagent."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "defaults", MappingProxyType(dict(self.defaults)))

    def is_already_subagent(self) -> bool:
        """Return whether the class is marked with `@subagent`."""
        return hasattr(self.cls, "subagent_name")

    def is_already_orchestrator(self) -> bool:
        """Return whether the class is marked with `@orchestrator`."""
        return bool(getattr(self.cls, "_is_orchestrator", False))

    def __getattr__(self, name: str) -> object:
        now = _RENAMED.get(name)
        if now is not None:
            raise AttributeError(f"AgentSpec has no {name!r} any more: it is called {now!r}")
        raise AttributeError(f"AgentSpec has no {name!r}")


def warn_of_conflicts(name: str, spec: AgentSpec, subagent_name: str | None) -> None:
    """Report each argument of `register` that `@subagent` overrides."""
    cls, described = spec.cls, spec.subagent_description
    given = {
        "subagent_name": (subagent_name, getattr(cls, "subagent_name", None)),
        "subagent_description": (described, getattr(cls, "subagent_description", None)),
        "stateless": (spec.stateless, getattr(cls, "subagent_stateless", True)),
        "retries": (spec.retries or None, getattr(cls, "subagent_retries", 0)),
    }
    for key, (mine, decorated) in given.items():
        is_default = mine is None or (key == "stateless" and mine is True)
        if mine != decorated and not is_default:
            warnings.warn(
                f"Agent '{name}': @subagent of {cls.__name__} says {key}={decorated!r}, which "
                f"wins over {key}={mine!r} of register()",
                stacklevel=3,
            )
