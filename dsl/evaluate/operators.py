"""The operators of conditions, each total: none raises for any values.

How each treats a missing value and a wrong type: docs/language.md, "Operators". A missing value
satisfies only `not_equals`, `is_empty` and `is_null` (and `exists` with `value: false`).
"""

import operator
from collections.abc import Callable
from typing import Literal, assert_never

from pydantic import JsonValue

from dsl.json_values import json_equal
from dsl.model.conditions import Operator
from dsl.model.evaluation_budget import EvaluationMeter
from dsl.paths import MISSING, Missing
from dsl.regular_expressions import match_steps, pattern
from dsl.templates.value_costs import charge_comparison, charge_membership

Found = JsonValue | Literal[Missing.MISSING]

TYPE_NAMES = ("string", "number", "integer", "boolean", "list", "mapping", "null")
SHORT_NAMES: dict[str, Operator] = {
    "eq": "equals",
    "ne": "not_equals",
    "gt": "greater_than",
    "lt": "less_than",
    "ge": "greater_or_equal",
    "gte": "greater_or_equal",
    "le": "less_or_equal",
    "lte": "less_or_equal",
    "==": "equals",
    "!=": "not_equals",
    ">": "greater_than",
    "<": "less_than",
    ">=": "greater_or_equal",
    "<=": "less_or_equal",
}


def as_number(value: object) -> float | None:
    """Return a number that can be compared, or None for any other value, also for a boolean."""
    match value:
        case bool():
            return None
        case int() | float():
            return value
        case _:
            return None


def _ordered(compare: Callable[[float | str, float | str], bool]) -> "Test":
    """Compare numbers with numbers and texts with texts; anything else does not hold."""

    def test(found: Found, value: JsonValue) -> bool:
        left, right = as_number(found), as_number(value)
        if left is not None and right is not None:
            return compare(left, right)
        return isinstance(found, str) and isinstance(value, str) and compare(found, value)

    return test


def _contains(found: Found, value: JsonValue) -> bool:
    match found:
        case str():
            return isinstance(value, str) and value in found
        case list():
            return any(json_equal(item, value) for item in found)
        case dict():
            return isinstance(value, str) and value in found
        case _:
            return False


def _each(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]


def _is_empty(found: Found, value: JsonValue) -> bool:
    empty = found is None or found is MISSING or found == "" or found == [] or found == {}
    return empty is (value is not False)


def _exists(found: Found, value: JsonValue) -> bool:
    return (found is not MISSING) is (value is not False)


def _is_null(found: Found, value: JsonValue) -> bool:
    return (found is None or found is MISSING) is (value is not False)


def _matches(found: Found, value: JsonValue) -> bool:
    if not isinstance(found, str) or not isinstance(value, str):
        return False
    try:
        return pattern(value).search(found) is not None
    except ValueError:
        return False


def _in_range(found: Found, value: JsonValue) -> bool:
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


def _is_type(found: Found, value: JsonValue) -> bool:
    name = type_name(found)
    return name == value or (name == "integer" and value == "number")


def _length(compare: Callable[[int, float], bool]) -> "Test":
    def test(found: Found, value: JsonValue) -> bool:
        bound = as_number(value)
        sized = isinstance(found, str | list | dict)
        return sized and bound is not None and compare(len(found), bound)

    return test


Test = Callable[[Found, JsonValue], bool]


def _charge_contains(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    if found is not MISSING:
        charge_membership(meter, value, found)


def _charge_matches(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    if isinstance(found, str) and isinstance(value, str):
        meter.charge(match_steps(value, found))


def _charge_each(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    for item in _each(value):
        _charge_contains(meter, found, item)


def charge(operator: Operator, meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge for a test before it is made.

    Raises:
        EvaluationLimitExceeded: the rest of the budget is too small.
    """
    meter.charge(2)
    match operator:
        case "matches":
            _charge_matches(meter, found, value)
        case "contains":
            _charge_contains(meter, found, value)
        case "contains_any" | "contains_all":
            _charge_each(meter, found, value)
        case "in":
            _charge_contains(meter, value, None if found is MISSING else found)
        case "starts_with" | "ends_with":
            pass  # at most as long as the text of the plan
        case (
            "equals"
            | "not_equals"
            | "greater_than"
            | "less_than"
            | "greater_or_equal"
            | "less_or_equal"
            | "exists"
            | "is_empty"
            | "is_null"
            | "in_range"
            | "is_type"
            | "has_length"
            | "min_length"
            | "max_length"
        ):
            charge_comparison(meter, value, found)
        case _:
            assert_never(operator)


WITHOUT_VALUE = ("exists", "is_empty", "is_null")
"""Operators that take no `value`."""

TESTS: dict[Operator, Test] = {
    "equals": json_equal,
    "not_equals": lambda found, value: not json_equal(found, value),
    "contains": _contains,
    "contains_any": lambda found, value: any(_contains(found, item) for item in _each(value)),
    "contains_all": lambda found, value: (
        found is not MISSING and all(_contains(found, item) for item in _each(value))
    ),
    "greater_than": _ordered(operator.gt),
    "less_than": _ordered(operator.lt),
    "greater_or_equal": _ordered(operator.ge),
    "less_or_equal": _ordered(operator.le),
    "exists": _exists,
    "is_empty": _is_empty,
    "is_null": _is_null,
    "starts_with": lambda found, value: (
        isinstance(found, str) and isinstance(value, str) and found.startswith(value)
    ),
    "ends_with": lambda found, value: (
        isinstance(found, str) and isinstance(value, str) and found.endswith(value)
    ),
    "matches": _matches,
    "in": lambda found, value: found is not MISSING and _contains(value, found),
    "in_range": _in_range,
    "is_type": _is_type,
    "has_length": _length(lambda size, bound: size == bound),
    "min_length": _length(lambda size, bound: size >= bound),
    "max_length": _length(lambda size, bound: size <= bound),
}
