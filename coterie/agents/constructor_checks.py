"""Check the arguments of an agent's constructor before it is called."""

import ast
import inspect
from collections.abc import Collection, Mapping, Sequence
from textwrap import dedent
from typing import Any

from coterie.agents.agent_arguments import OF_AGENTS, check_values
from coterie.agents.agent_definition import SETTINGS, unknown_setting
from coterie.agents.python_agent import BaseAgent
from coterie.dsl.errors import nearest

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
    said = cls.system_message or config.get("system_message")
    if not said and "system_message" not in missing and _adds_no_message(cls):
        missing.insert(0, "system_message")
    return missing


def _adds_no_message(cls: type[BaseAgent]) -> bool:
    """Return whether no constructor of a class can have a system message of its own."""
    own = [vars(one).get("__init__") for one in cls.__mro__[: cls.__mro__.index(BaseAgent)]]
    return all(_only_passes_on(one) for one in own if one is not None)


def _only_passes_on(constructor: object) -> bool:
    """Return whether a constructor has only the message that it is given.

    False if its source leaves a doubt: the class then says so when it is created.
    """
    written = _source_of(constructor)
    calls = [] if written is None else list(filter(_is_call_of_base, ast.walk(written)))
    if written is None or len(calls) != 1 or not isinstance(calls[0], ast.Call):
        return False
    names = {"system_message"}
    if written.args.kwarg is not None:
        names.add(written.args.kwarg.arg)
    passed = _message_arguments(calls[0])
    if not all(isinstance(one, ast.Name) and one.id in names for one in passed):
        return False
    return not any(
        _may_be_a_message(node, names) for node in ast.walk(written) if node not in passed
    )


def _source_of(constructor: object) -> ast.FunctionDef | None:
    """Return the source of a function whose default for the system message is empty."""
    if not inspect.isfunction(constructor):
        return None
    given = inspect.signature(constructor).parameters.get("system_message")
    try:
        (written,) = ast.parse(dedent(inspect.getsource(constructor))).body
    except (OSError, SyntaxError, ValueError):
        return None
    if not isinstance(written, ast.FunctionDef) or written.decorator_list:
        return None
    return None if given is not None and given.default else written


def _is_call_of_base(node: ast.AST) -> bool:
    match node:
        case ast.Call(
            func=ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super")))
        ):
            return True
        case _:
            return False


def _message_arguments(call: ast.Call) -> list[ast.AST]:
    """Return the parts of the arguments of a call that may be, or hold, a system message."""
    passed: list[ast.AST] = list(call.args)
    for argument in call.keywords:
        match argument:
            case ast.keyword(arg=None, value=ast.Dict(keys=keys, values=values)):
                pairs = zip(keys, values, strict=True)
                passed += [one for key, one in pairs if not isinstance(key, ast.Constant)]
            case ast.keyword(arg=None | "system_message"):
                passed.append(argument.value)
            case _:
                pass
    return passed


def _may_be_a_message(node: ast.AST, names: Collection[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Constant(value="system_message") | ast.Attribute(attr="system_message"):
            return True
        case _:
            return False


def check_class(name: str, cls: object) -> None:
    """Refuse what is not a class of agents.

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
    said = {"system_message": config.get("system_message", cls.system_message)}
    check_values(f"Agent '{name}'", said, OF_AGENTS)
    parameters = _parameters(cls)
    own = [key for key, one in parameters.items() if one.kind not in _VARIADIC]
    open_ended = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    known = [*own, *(SETTINGS if open_ended else ())]
    passed_on = ("system_message", "tools", "agent_id", "output_schema") if open_ended else ()
    otherwise = "name the constructor's own arguments explicitly" if open_ended else ""
    for key in config:
        if key not in known and key not in passed_on:
            unknown = unknown_setting(cls.__name__, key, [*known, *beside], otherwise)
            raise TypeError(f"Agent '{name}': {unknown}")
    given = config.get("agent_id", name)
    if given != name:
        raise TypeError(
            f"Agent '{name}': `agent_id` is the registered name, so register the class as "
            f"{given!r}, or leave agent_id={given!r} out"
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


def taken(name: str, cls: type[BaseAgent]) -> str:
    """Say that another agent has a name."""
    return (
        f"another agent is already registered as {name!r}: {cls.__name__}; choose another name, or "
        "replace it by replace=True"
    )


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


def make_instance(name: str, cls: type[BaseAgent], config: Mapping[str, Any]) -> BaseAgent:
    """Call the constructor of an agent with its arguments.

    Raises:
        TypeError: The constructor raised one; names the agent and its arguments.
        ValueError: The constructor raised something else.
    """
    try:
        return cls(**config)
    except Exception as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(_failed_constructor(name, cls, config, error)) from error


def _failed_constructor(
    name: str, cls: type[BaseAgent], config: Mapping[str, object], error: Exception
) -> str:
    own = _parameters(cls)
    if "system_message" in config and "system_message" not in own and isinstance(error, TypeError):
        return (
            f"Agent '{name}': the constructor of {cls.__name__} writes its own system message, and "
            "`system_message` is in the defaults, too; leave it out of the defaults, or name "
            "`system_message` as an argument of the constructor"
        )
    said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    given = f" (arguments: {', '.join(config)})" if config else ""
    return f"Agent '{name}': the constructor of {cls.__name__} failed: {said}{given}"
