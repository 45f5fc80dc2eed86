"""What the arguments of factories, agents and decorators must be, and what to write instead."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from coterie.dsl.checks.tools.tool_names import NAME_OF_A_TOOL
from coterie.dsl.model.template_bound import MAX_RETRIES

_MAX_SHOWN = 60
"""Characters of a wrong value that a message shows."""
_NAME_OF_AN_AGENT = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


class Wanted(NamedTuple):
    """The values that an argument takes."""

    words: str
    """Completes "give ..."."""
    fits: Callable[[object], bool]
    error: type[TypeError] | type[ValueError] = TypeError
    required: bool = False
    """Whether None is refused."""


def instance_of(kind: type) -> Callable[[object], bool]:
    """Return whether a value is an instance of a class, as a function."""
    return lambda value: isinstance(value, kind)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _are_texts(values: object) -> bool:
    return all(isinstance(value, str) for value in cast("Iterable[object]", values))


def _is_names(value: object) -> bool:
    return _is_list(value) and _are_texts(value)


def _is_arguments(value: object) -> bool:
    return isinstance(value, Mapping) and _are_texts(cast("object", value))


def _is_retries(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_RETRIES


TEXT = Wanted("a text", instance_of(str))
FLAG = Wanted("True or False", instance_of(bool))
LIST = Wanted("a list", _is_list)
RETRIES = Wanted(f"0 to {MAX_RETRIES}", _is_retries, ValueError)
NAMES = Wanted(
    "a list of registered names, like ['weather_agent']; attach an agent itself by "
    "register_agent()",
    _is_names,
)
ARGUMENTS = Wanted("a dict of arguments of the constructor", _is_arguments)

OF_REGISTER: Mapping[str, Wanted] = {
    "expose_as_subagent": FLAG,
    "subagent_name": TEXT,
    "subagent_description": TEXT,
    "stateless": FLAG,
    "defaults": ARGUMENTS,
    "subagents": NAMES,
    "retries": RETRIES,
}
"""The arguments of `register`, which are the fields of an AgentSpec."""

SCHEMA = Wanted("a JSON Schema as a dict, or a pydantic model", instance_of(Mapping))

OF_TOOLS: Mapping[str, Wanted] = {
    "name": TEXT._replace(required=True),
    "executor": Wanted("a function", callable, required=True),
    "input_schema": Wanted("`{argument: JSON Schema}`", instance_of(Mapping)),
    "requires_approval": FLAG,
}
"""Fields of a ToolSchema; `terms_problem` checks the others."""

OF_AGENTS: Mapping[str, Wanted] = {"system_message": TEXT, "tools": LIST, "agent_id": TEXT}


def check_values(
    where: str, given: Mapping[str, object], wanted: Mapping[str, Wanted] = OF_REGISTER
) -> None:
    """Refuse a value of the wrong type; None stands for a default.

    Args:
        where: What takes the arguments; the message begins with it.
        given: The arguments.
        wanted: What each of them must be.

    Raises:
        TypeError: Names the first one, and what to give.
        ValueError: A number is out of its range.
    """
    for name, want in wanted.items():
        value = given.get(name)
        if (value is not None or want.required) and not want.fits(value):
            raise want.error(f"{where}: {name}={_value_text(value)}; give {want.words}")


def checked_id(name: str) -> str:
    """Return a valid id.

    Raises:
        ValueError: It is invalid.
    """
    if isinstance(name, str) and _NAME_OF_AN_AGENT.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
        return name
    raise ValueError(
        f"an agent cannot be called {name!r}; use letters, digits, `-` and `_`, at most 64, "
        "beginning with a letter"
    )


def check_tool_name(where: str, name: str | None) -> None:
    """Refuse what no tool can be called; None stands for a default.

    Raises:
        ValueError: Begins with `where` the name was written.
    """
    if name is not None and not NAME_OF_A_TOOL.fullmatch(name):
        raise ValueError(
            f"{where}: a tool cannot be called {name!r}; use letters, digits, `-` and `_`, at "
            "most 64"
        )


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value_text, cast('list[object]', value)[:5]))}]"
    text = repr(value)
    if len(text) > _MAX_SHOWN or text.startswith("<"):
        return f"an instance of {type(value).__name__}"
    return text
