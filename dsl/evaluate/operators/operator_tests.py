"""The tests of operators, each total: none raises for any values.

How each treats a missing value and a wrong type: docs/routing.md, "Operators". A missing value
satisfies only `not_equals`, `is_empty` and `is_null` (and `exists` with `value: false`).
"""

from collections.abc import Callable
from typing import Literal

from pydantic import JsonValue

from coterie.dsl.json_values import json_equal
from coterie.dsl.paths import MISSING, Missing
from coterie.dsl.regular_expressions import pattern

Found = JsonValue | Literal[Missing.MISSING]

TYPE_NAMES = ("string", "number", "integer", "boolean", "list", "mapping", "null")
Test = Callable[[Found, JsonValue], bool]


def as_number(value: object) -> float | None:
    """Return a number that can be compared, or None for any other value, also for a boolean."""
    match value:
        case bool():
            return None
        case int() | float():
            return value
        case _:
            return None


def ordered(compare: Callable[[float | str, float | str], bool]) -> Test:
    """Compare numbers with numbers and texts with texts; anything else does not hold."""

    def test(found: Found, value: JsonValue) -> bool:
        left, right = as_number(found), as_number(value)
        if left is not None and right is not None:
            return compare(left, right)
        return isinstance(found, str) and isinstance(value, str) and compare(found, value)

    return test


def differs(found: Found, value: JsonValue) -> bool:
    """Return whether the two are not equal; a missing value differs from any other."""
    return not json_equal(found, value)


def contains(found: Found, value: JsonValue) -> bool:
    """Return whether a text, a list or a mapping contains the value."""
    match found:
        case str():
            return isinstance(value, str) and value in found
        case list():
            return any(json_equal(item, value) for item in found)
        case dict():
            return isinstance(value, str) and value in found
        case _:
            return False


def each(value: JsonValue) -> list[JsonValue]:
    """Return the items of a list, or the value alone."""
    return value if isinstance(value, list) else [value]


def is_empty(found: Found, value: JsonValue) -> bool:
    """Return whether nothing is there; `false` asks for the opposite."""
    empty = found is None or found is MISSING or found == "" or found == [] or found == {}
    return empty is (value is not False)


def exists(found: Found, value: JsonValue) -> bool:
    """Return whether a value is there; `false` asks for the opposite."""
    return (found is not MISSING) is (value is not False)


def is_null(found: Found, value: JsonValue) -> bool:
    """Return whether it is null or missing; `false` asks for the opposite."""
    return (found is None or found is MISSING) is (value is not False)


def matches(found: Found, value: JsonValue) -> bool:
    """Return whether the regular expression is found in a text."""
    if not isinstance(found, str) or not isinstance(value, str):
        return False
    try:
        return pattern(value).search(found) is not None
    except ValueError:
        return False


def in_range(found: Found, value: JsonValue) -> bool:
    """Return whether a number lies within `[lowest, highest]`."""
    number = as_number(found)
    if number is None or not isinstance(value, list) or len(value) != 2:
        return False
    low, high = as_number(value[0]), as_number(value[1])
    return (value[0] is None or (low is not None and low <= number)) and (
        value[1] is None or (high is not None and number <= high)
    )


def type_name(found: Found) -> str:
    """Return the JSON type name, as `is_type` knows it; a missing value has none."""
    match found:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if found.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "list"
        case dict():
            return "mapping"
        case None:
            return "null"
        case Missing.MISSING:
            return "missing"


def is_type(found: Found, value: JsonValue) -> bool:
    """Return whether the value has the named type; an integer is a number, too."""
    name = type_name(found)
    return name == value or (name == "integer" and value == "number")


def length(compare: Callable[[int, float], bool]) -> Test:
    """Compare the length of a text, a list or a mapping."""

    def test(found: Found, value: JsonValue) -> bool:
        bound = as_number(value)
        sized = isinstance(found, str | list | dict)
        return sized and bound is not None and compare(len(found), bound)

    return test


def contains_any(found: Found, value: JsonValue) -> bool:
    """Return whether it contains one of the values."""
    return any(contains(found, item) for item in each(value))


def contains_all(found: Found, value: JsonValue) -> bool:
    """Return whether it exists and contains each of the values."""
    return found is not MISSING and all(contains(found, item) for item in each(value))


def starts_with(found: Found, value: JsonValue) -> bool:
    """Return whether a text starts with the other."""
    return isinstance(found, str) and isinstance(value, str) and found.startswith(value)


def ends_with(found: Found, value: JsonValue) -> bool:
    """Return whether a text ends with the other."""
    return isinstance(found, str) and isinstance(value, str) and found.endswith(value)


def is_in(found: Found, value: JsonValue) -> bool:
    """Return whether the value contains what is found."""
    return found is not MISSING and contains(value, found)
