"""The values that operators take: the compiler refuses any other."""

from collections.abc import Callable
from typing import NamedTuple

from pydantic import JsonValue

from dsl.evaluate.operators import TYPE_NAMES, as_number
from dsl.model.conditions import Operator
from dsl.regular_expressions import pattern


def _ranged(value: JsonValue) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    return all(item is None or as_number(item) is not None for item in value)


def _whole(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _comparable(value: JsonValue) -> bool:
    return isinstance(value, str) or as_number(value) is not None


def _text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _list(value: JsonValue) -> bool:
    return isinstance(value, list)


def _flag(value: JsonValue) -> bool:
    return value is None or isinstance(value, bool)


_LENGTH = (_whole, "takes a length: a whole number, zero or more")


_COMPARES = (_comparable, "compares with a number or a text")


_FLAG = (_flag, "takes no value, or true or false")


_LIST = (_list, "takes a list of values")


_WANTED: dict[Operator, tuple[Callable[[JsonValue], bool], str]] = {
    "greater_than": _COMPARES,
    "less_than": _COMPARES,
    "greater_or_equal": _COMPARES,
    "less_or_equal": _COMPARES,
    "starts_with": (_text, "compares with a text"),
    "ends_with": (_text, "compares with a text"),
    "matches": (_text, "takes a regular expression as a text"),
    "in": (lambda value: isinstance(value, list | str | dict), "takes a list of values"),
    "in_range": (_ranged, "takes [lowest, highest], either may be null"),
    "is_type": (lambda value: value in TYPE_NAMES, f"takes one of {', '.join(TYPE_NAMES)}"),
    "has_length": _LENGTH,
    "min_length": _LENGTH,
    "max_length": _LENGTH,
    "exists": _FLAG,
    "is_empty": _FLAG,
    "is_null": _FLAG,
    "contains_any": _LIST,
    "contains_all": _LIST,
}


def wrong_value(operator: Operator, value: JsonValue) -> str | None:
    """Return why the operator never holds with this value, or None; the compiler refuses it."""
    fits, wanted = _WANTED.get(operator, (lambda _: True, ""))
    return None if fits(value) else wanted


class UnusablePattern(NamedTuple):
    """A regular expression that cannot be compiled, and why."""

    text: str
    reason: str


def unusable_pattern(operator: Operator, value: JsonValue) -> UnusablePattern | None:
    """Return the first expression of an operator's value that cannot be used, or None."""
    if operator != "matches" or not isinstance(value, str):
        return None
    try:
        pattern(value)
    except ValueError as error:
        return UnusablePattern(value, str(error))
    return None
