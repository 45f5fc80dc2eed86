"""Fill the typed parameters of a named command: values become arguments, never a shell's text.

The worker's configuration declares each parameter and where it stands. A value fills its place
once, so nothing in it is expanded, and it never becomes an option that the configuration does not
have.
"""

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from coterie.dsl.errors import listed, nearest
from coterie.dsl.regular_expressions import pattern
from coterie.dsl.safety.blocked_rules import blocked_text
from coterie.dsl.safety.field_safety import judge

ParameterType = Literal["text", "path", "url", "code", "command", "integer", "number", "choice"]

MAX_VALUES = 100
"""Values of a parameter with `many`."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class ParameterProblem(Exception):
    """A value does not fit its parameter; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a command."""

    name: str
    type: ParameterType = "text"
    values: tuple[str, ...] = ()
    """What a `choice` allows."""
    pattern: str | None = None
    """What a text must match as a whole, in RE2 syntax."""
    max_length: int = 200
    """Characters of a text."""
    minimum: float | None = None
    maximum: float | None = None
    many: bool = False
    """Whether it takes a list, and gives one argument for each item."""
    default: JsonValue = None
    """None for a required parameter."""


def checked_values(
    parameters: Mapping[str, Parameter], given: Mapping[str, JsonValue], root: Path, cwd: Path
) -> dict[str, tuple[str, ...]]:
    """Return the arguments for each parameter.

    Args:
        parameters: As configured.
        given: The caller's values.
        root: The workspace; paths are relative to it, and checked by the caller.
        cwd: Where the command runs.

    Raises:
        ParameterProblem: A value is unknown, missing, or does not fit.
    """
    for name in given:
        if name not in parameters:
            hint = nearest(name, parameters)
            raise ParameterProblem(
                f"unknown argument {name!r}; its parameters: {listed(parameters)}"
                + (f"; {hint}" if hint else "")
            )
    return {
        name: tuple(
            _text(parameter, item, root, cwd) for item in _items(parameter, given.get(name))
        )
        for name, parameter in parameters.items()
    }


def _items(parameter: Parameter, argument: JsonValue) -> list[JsonValue]:
    value = parameter.default if argument is None else argument
    if value is None:
        raise ParameterProblem(f"the argument {parameter.name!r} is missing")
    if not parameter.many:
        return [value]
    if not isinstance(value, list) or len(value) > MAX_VALUES:
        raise ParameterProblem(
            f"the argument {parameter.name!r} must be a list of at most {MAX_VALUES} values"
        )
    return value


def _text(parameter: Parameter, value: JsonValue, root: Path, cwd: Path) -> str:
    match parameter.type:
        case "integer" | "number":
            return _number(parameter, value)
        case "choice":
            if value not in parameter.values:
                raise _mismatch(parameter, f"one of {', '.join(parameter.values)}")
            return str(value)
        case "path":
            place = os.path.relpath(root / _string(parameter, value), cwd)
            return f"./{place}" if place.startswith("-") else place
        case "text" | "url" | "code" | "command":
            return _string(parameter, value)


def _number(parameter: Parameter, value: JsonValue) -> str:
    whole = parameter.type == "integer"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise _mismatch(parameter, "a whole number" if whole else "a number")
    low = -math.inf if parameter.minimum is None else parameter.minimum
    high = math.inf if parameter.maximum is None else parameter.maximum
    if not low <= value <= high or not math.isfinite(value) or abs(value) > 1e18:
        raise _mismatch(parameter, f"from {low:g} to {high:g}")
    return str(value)


def _string(parameter: Parameter, value: JsonValue) -> str:
    if not isinstance(value, str):
        raise _mismatch(parameter, "a text")
    if len(value) > parameter.max_length:
        raise _mismatch(parameter, f"at most {parameter.max_length} characters long")
    if _CONTROL.search(value):
        raise _mismatch(parameter, "free of control characters")
    expression = parameter.pattern
    if expression is not None and pattern(rf"\A(?:{expression})\z").search(value) is None:
        raise _mismatch(parameter, f"like the pattern {expression!r}")
    match parameter.type:
        case "path" | "url" | "code" | "command":
            blocked = judge(parameter.type, value)
            if blocked is not None:
                why = blocked_text(*blocked)
                raise ParameterProblem(f"the argument {parameter.name!r} is blocked: {why}")
        case _:
            pass
    return value


def _mismatch(parameter: Parameter, requirement: str) -> ParameterProblem:
    return ParameterProblem(f"the argument {parameter.name!r} must be {requirement}")


def filled(run: Sequence[str], values: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the program and its arguments with all values in their places.

    Raises:
        ParameterProblem: A value would be read as an option.
    """
    return (run[0], *(word for part in run[1:] for word in _filled_part(part, values)))


def _filled_part(part: str, values: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    alone = part[1:-1] if part.startswith("{") and part.endswith("}") else ""
    if alone in values:
        texts: Sequence[str] = values[alone]
    elif not values:
        texts = (part,)
    else:
        places = "|".join(map(re.escape, values))
        texts = (re.sub(rf"\{{({places})\}}", lambda match: values[match[1]][0], part),)
    for text in texts:
        negative = re.fullmatch(r"-\d+(\.\d+)?", text)
        if text.startswith("-") and not part.startswith("-") and not negative:
            raise ParameterProblem(
                f"the argument {text[:50]!r} starts with '-', and would be read as an option"
            )
        yield text
