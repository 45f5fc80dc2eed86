"""The keywords of JSON Schema about single values: types, bounds, lengths, patterns."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import cast

from pydantic import JsonValue

from coterie.dsl.json_schema.keyword_check import (
    Check,
    Word,
    excerpt,
    names_steps,
    number_steps,
    some_of,
    text_steps,
)
from coterie.dsl.json_schema.patterns import schema_pattern
from coterie.dsl.json_values import describe_kind
from coterie.dsl.values import Json

_COMPILED = 20

_INSTRUCTIONS_A_STEP = 20
"""Instructions of a pattern whose compilation counts as one unit of work."""

_PATTERN_A_STEP = 250
"""Characters times instructions of the pattern that count as one unit of work."""

_KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def _is(value: JsonValue, name: JsonValue) -> bool:
    match name:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "number":
            return _number(value) is not None
        case "integer":
            number = _number(value)
            return isinstance(number, int) or (number is not None and number.is_integer())
        case _:
            raise ValueError(f"no type {name!r}")


def is_of_type(value: JsonValue, wanted: JsonValue) -> bool:
    """Return whether a value is of a type, or of one of several."""
    return any(_is(value, name) for name in (wanted if isinstance(wanted, list) else [wanted]))


def _number(value: JsonValue) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def check_type(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `type`."""
    type_value = schema["type"]
    names = type_value if isinstance(type_value, list) else [type_value]
    check.charge(names_steps(names))
    if not is_of_type(value, type_value):
        kinds = " or ".join(_KINDS[cast("str", name)] for name in names)
        yield f"{where} is {describe_kind(value)}, not {kinds}"


def check_enum(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `enum`."""
    options = cast("list[JsonValue]", schema["enum"])
    if not any(check.equal(value, option) for option in options):
        choices = some_of([excerpt(option) for option in options])
        yield f"{where} is {excerpt(value)}, not one of {choices}"


def check_const(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `const`."""
    if not check.equal(value, schema["const"]):
        yield f"{where} is {excerpt(value)}, not {excerpt(schema['const'])}"


def bound_check(word: str, relation: str, holds: Callable[[float, float], bool]) -> Word:
    """Return the check of a bound of numbers."""

    def test(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
        number, limit = _number(value), schema[word]
        check.charge(number_steps(number) + number_steps(_number(limit)))
        if number is not None and not holds(number, cast("float", limit)):
            yield f"{where} is {excerpt(number)}, not {relation} {excerpt(limit)}"

    return test


def is_multiple(number: float, of: float) -> bool:
    """Return whether one number divides the other, in decimal: 19.99 is 1,999 times 0.01."""
    if isinstance(number, int) and isinstance(of, int):
        return number % of == 0
    return Fraction(repr(number)) % Fraction(repr(of)) == 0


def size_check(word: str, kind: type, least: bool, what: str) -> Word:
    """Return the check of a length or a count."""

    def test(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
        if isinstance(value, kind):
            size, limit = len(cast("str", value)), cast("int", schema[word])
            if size < limit if least else size > limit:
                bound = "at least" if least else "at most"
                yield f"{where} has {size} {what}, not {bound} {limit}"

    return test


def check_pattern(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `pattern`, in linear time."""
    if isinstance(value, str):
        text = cast("str", schema["pattern"])
        check.charge(_COMPILED + text_steps(text))
        expression = schema_pattern(text)
        steps = len(value) * expression.programsize // _PATTERN_A_STEP
        check.charge(steps + expression.programsize // _INSTRUCTIONS_A_STEP)
        if expression.search(value) is None:
            yield f"{where} is {excerpt(value)}, which does not match {text!r}"
