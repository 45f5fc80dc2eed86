"""The operators of conditions: what each tests, takes and costs, and its words.

Each test is total: none raises for any values. How each treats a missing value and a wrong type:
docs/routing.md, "Operators". A missing value satisfies only `not_equals`, `is_empty` and `is_null`
(and `exists` with `value: false`). To add an operator, add its row, and its name to `Operator`.
"""

import operator as compare
from collections.abc import Callable
from typing import Literal, NamedTuple

from pydantic import JsonValue

from coterie.dsl.json_values import json_equal
from coterie.dsl.model.conditions import Operator
from coterie.dsl.model.evaluation_budget import EvaluationMeter
from coterie.dsl.paths import MISSING, Missing
from coterie.dsl.regular_expressions import match_steps, pattern
from coterie.dsl.templates.value_costs import charge_comparison, charge_membership

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


Charge = Callable[[EvaluationMeter, Found, JsonValue], None]


def _charge_comparison(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge for a comparison of both values."""
    charge_comparison(meter, value, found)


def _charge_membership(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge for a search for the value within what is found."""
    if found is not MISSING:
        charge_membership(meter, value, found)


def _charge_membership_of_each(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge for a search for each of the values."""
    for item in each(value):
        _charge_membership(meter, found, item)


def _charge_membership_in_value(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge for a search for what is found within the value."""
    _charge_membership(meter, value, None if found is MISSING else found)


def _charge_pattern_match(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge for the steps of a regular expression."""
    if isinstance(found, str) and isinstance(value, str):
        meter.charge(match_steps(value, found))


def _charge_nothing(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge nothing more: the test reads at most as much as the plan's own text has."""
    del meter, found, value


class ValueForm(NamedTuple):
    """Which values an operator takes."""

    fits: Callable[[JsonValue], bool]
    wanted: str
    """What an operator says of it: `takes a list of values`."""
    is_pattern: bool = False
    """Whether a text of this form is a regular expression."""


def _is_range(value: JsonValue) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    return all(item is None or as_number(item) is not None for item in value)


def _whole(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _comparable(value: JsonValue) -> bool:
    return isinstance(value, str) or as_number(value) is not None


def _text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _any(_: JsonValue) -> bool:
    return True


def _list(value: JsonValue) -> bool:
    return isinstance(value, list)


def _container(value: JsonValue) -> bool:
    return isinstance(value, list | str | dict)


def _type(value: JsonValue) -> bool:
    return value in TYPE_NAMES


def _flag(value: JsonValue) -> bool:
    return value is None or isinstance(value, bool)


_ANY = ValueForm(_any, "takes any value")
_COMPARABLE = ValueForm(_comparable, "compares with a number or a text")
_TEXT = ValueForm(_text, "compares with a text")
_PATTERN = ValueForm(_text, "takes a regular expression as a text", is_pattern=True)
_LIST = ValueForm(_list, "takes a list of values")
_CONTAINER = ValueForm(_container, "takes a list of values")
_RANGE = ValueForm(_is_range, "takes [lowest, highest], either may be null")
_TYPE = ValueForm(_type, f"takes one of {', '.join(TYPE_NAMES)}")
_LENGTH = ValueForm(_whole, "takes a length: a whole number, zero or more")
_FLAG = ValueForm(_flag, "takes no value, or true or false")


class OperatorRow(NamedTuple):
    """All that there is to one operator."""

    test: Test
    charge: Charge
    """What the test costs besides its base price."""
    value: ValueForm
    wording: str
    """Between the names of what is compared: `x contains y`."""
    negated: str | None = None
    """The wording for `value: false`, of an operator that needs no value."""
    short_names: tuple[str, ...] = ()


OPERATORS: dict[Operator, OperatorRow] = {
    "equals": OperatorRow(json_equal, _charge_comparison, _ANY, "=", short_names=("eq", "==")),
    "not_equals": OperatorRow(
        differs,
        _charge_comparison,
        _ANY,
        "≠",
        short_names=("ne", "!="),
    ),
    "contains": OperatorRow(contains, _charge_membership, _ANY, "contains"),
    "contains_any": OperatorRow(contains_any, _charge_membership_of_each, _LIST, "contains any of"),
    "contains_all": OperatorRow(contains_all, _charge_membership_of_each, _LIST, "contains all of"),
    "greater_than": OperatorRow(
        ordered(compare.gt),
        _charge_comparison,
        _COMPARABLE,
        ">",
        short_names=("gt", ">"),
    ),
    "less_than": OperatorRow(
        ordered(compare.lt),
        _charge_comparison,
        _COMPARABLE,
        "<",
        short_names=("lt", "<"),
    ),
    "greater_or_equal": OperatorRow(
        ordered(compare.ge),
        _charge_comparison,
        _COMPARABLE,
        "≥",
        short_names=("ge", "gte", ">="),
    ),
    "less_or_equal": OperatorRow(
        ordered(compare.le),
        _charge_comparison,
        _COMPARABLE,
        "≤",
        short_names=("le", "lte", "<="),
    ),
    "exists": OperatorRow(exists, _charge_comparison, _FLAG, "exists", negated="does not exist"),
    "is_empty": OperatorRow(
        is_empty, _charge_comparison, _FLAG, "is empty", negated="is not empty"
    ),
    "is_null": OperatorRow(is_null, _charge_comparison, _FLAG, "is null", negated="is not null"),
    "starts_with": OperatorRow(starts_with, _charge_nothing, _TEXT, "starts with"),
    "ends_with": OperatorRow(ends_with, _charge_nothing, _TEXT, "ends with"),
    "matches": OperatorRow(matches, _charge_pattern_match, _PATTERN, "matches"),
    "in": OperatorRow(is_in, _charge_membership_in_value, _CONTAINER, "is one of"),
    "in_range": OperatorRow(in_range, _charge_comparison, _RANGE, "is within"),
    "is_type": OperatorRow(is_type, _charge_comparison, _TYPE, "is of type"),
    "has_length": OperatorRow(length(compare.eq), _charge_comparison, _LENGTH, "has length"),
    "min_length": OperatorRow(length(compare.ge), _charge_comparison, _LENGTH, "has length ≥"),
    "max_length": OperatorRow(length(compare.le), _charge_comparison, _LENGTH, "has length ≤"),
}
"""Everything else about operators draws from here; `tests/law/test_kinds.py` keeps it complete."""

SHORT_NAMES: dict[str, Operator] = {
    short: name for name, row in OPERATORS.items() for short in row.short_names
}
WITHOUT_VALUE = tuple(name for name, row in OPERATORS.items() if row.negated is not None)
"""Operators that need no `value`."""


def charge(operator: Operator, meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge for a test before it is made.

    Raises:
        EvaluationLimitExceeded: the rest of the budget is too small.
    """
    meter.charge(2)
    OPERATORS[operator].charge(meter, found, value)


def wrong_value(operator: Operator, value: JsonValue) -> str | None:
    """Return why the operator never holds with this value, or None; the compiler refuses it."""
    form = OPERATORS[operator].value
    return None if form.fits(value) else form.wanted


class UnusablePattern(NamedTuple):
    """A regular expression that cannot be compiled, and why."""

    text: str
    reason: str


def unusable_pattern(operator: Operator, value: JsonValue) -> UnusablePattern | None:
    """Return the operator's value if it is a regular expression that cannot be used, else None."""
    if not OPERATORS[operator].value.is_pattern or not isinstance(value, str):
        return None
    try:
        pattern(value)
    except ValueError as error:
        return UnusablePattern(value, str(error))
    return None
