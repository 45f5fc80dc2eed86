"""What the arguments of factories, agents and decorators must be, and what to write instead."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

from coterie.dsl.model.template_bound import MAX_RETRIES

_MAX_SHOWN = 60
"""Characters of a wrong value that a message shows."""


class Wanted(NamedTuple):
    """The values that an argument takes."""

    words: str
    """Completes "give ..."."""
    fits: Callable[[object], bool]
    error: type[TypeError] | type[ValueError] = TypeError
    required: bool = False
    """Whether None is refused."""


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_dict(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_retries(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_RETRIES


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_names(value: object) -> bool:
    return _is_list(value) and all(isinstance(one, str) for one in cast("Sequence[object]", value))


def _is_arguments(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(key, str) for key in cast("Mapping[object, object]", value)
    )


TEXT = Wanted("a text", _is_text)
FLAG = Wanted("True or False", _is_flag)
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

SCHEMA = Wanted("a JSON Schema as a dict, or a pydantic model", _is_dict)

OF_TOOLS: Mapping[str, Wanted] = {
    "name": TEXT._replace(required=True),
    "executor": Wanted("a function", callable, required=True),
    "input_schema": Wanted("`{argument: JSON Schema}`", _is_dict),
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
    for name, one in wanted.items():
        value = given.get(name)
        if (value is not None or one.required) and not one.fits(value):
            raise one.error(f"{where}: {name}={_value_text(value)}; give {one.words}")


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value_text, cast('list[object]', value)[:5]))}]"
    text = repr(value)
    if len(text) > _MAX_SHOWN or text.startswith("<"):
        return f"an instance of {type(value).__name__}"
    return text
