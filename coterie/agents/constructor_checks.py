"""Check the arguments of an agent's constructor before it is called."""

import inspect
from collections.abc import Collection, Mapping, Sequence

from coterie.agents.agent_definition import SETTINGS, unknown_setting
from coterie.agents.python_agent import BaseAgent
from dsl.errors import nearest

_MODES = {
    "agent": "create({name!r})",
    "orchestrator": "create({name!r}, as_orchestrator=True, subagents=[...])",
}
"""What to write instead of the modes of the first design."""
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def missing_arguments(cls: type[BaseAgent], config: Mapping[str, object]) -> list[str]:
    """Return the names of the arguments that the constructor needs and the configuration lacks."""
    missing = [
        name
        for name, parameter in _parameters(cls).items()
        if parameter.default is parameter.empty
        and parameter.kind not in _VARIADIC
        and name not in config
    ]
    plain = cls.__init__ is BaseAgent.__init__
    if plain and not cls.system_message and not config.get("system_message"):
        missing.insert(0, "system_message")
    return missing


def check_class(name: str, cls: object) -> None:
    """Refuse what is no class of agents.

    Raises:
        TypeError: Says what to write instead.
    """
    if isinstance(cls, BaseAgent):
        kind = type(cls).__name__
        raise TypeError(f"Agent '{name}': cls is an instance of {kind}; pass the class: {kind}")
    if isinstance(cls, type) and issubclass(cls, BaseAgent):
        return
    given = cls.__name__ if isinstance(cls, type) else f"an instance of {type(cls).__name__}"
    raise TypeError(
        f"Agent '{name}': cls is {given}; pass a subclass of BaseAgent of coterie.agents"
    )


def check_arguments(
    name: str, cls: type[BaseAgent], config: Mapping[str, object], beside: Collection[str]
) -> None:
    """Refuse arguments that the constructor does not take.

    Args:
        name: Of the agent.
        cls: Of the agent.
        config: The arguments.
        beside: Other names that a person may have meant.

    Raises:
        TypeError: Names the first one, and the nearest that exists.
    """
    parameters = _parameters(cls)
    own = [key for key, one in parameters.items() if one.kind not in _VARIADIC]
    open_ended = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    known = [*own, *(SETTINGS if open_ended else ())]
    passed_on = ("system_message", "tools", "agent_id", "output_schema") if open_ended else ()
    for key in config:
        if key not in known and key not in passed_on:
            raise TypeError(
                f"Agent '{name}': {unknown_setting(cls.__name__, key, [*known, *beside])}"
            )


def _parameters(cls: type[BaseAgent]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(cls).parameters


def without_arguments(name: str, cls: type[BaseAgent], missing: Sequence[str]) -> str:
    """Say which arguments an agent needs, and where to give them."""
    needed = ", ".join(f"`{one}`" for one in missing)
    where = (
        "set it in the class, or pass it in `defaults` of register()"
        if "system_message" in missing
        else "pass it in `defaults` of register(), or to create()"
    )
    return f"Agent '{name}': {cls.__name__} needs {needed}; {where}"


def instead_of_mode(name: str, mode: object) -> str:
    """Say how to create an agent without the modes of the first design."""
    form = _MODES.get(mode) if isinstance(mode, str) else None
    if form is not None:
        return f"create() has no `mode` any more; write {form.format(name=name)}"
    hint = nearest(mode, _MODES) if isinstance(mode, str) else ""
    forms = ", or ".join(one.format(name=name) for one in _MODES.values())
    return (
        f"create() has no `mode` any more, and {mode!r} was none"
        + (f" ({hint})" if hint else "")
        + f"; write {forms}"
    )
