"""The forms of the values that operators take: the compiler refuses any other value."""

from collections.abc import Callable
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.evaluate.operators.operator_tests import TYPE_NAMES, as_number


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


ANY = ValueForm(_any, "takes any value")
COMPARABLE = ValueForm(_comparable, "compares with a number or a text")
TEXT = ValueForm(_text, "compares with a text")
PATTERN = ValueForm(_text, "takes a regular expression as a text", is_pattern=True)
LIST = ValueForm(_list, "takes a list of values")
CONTAINER = ValueForm(_container, "takes a list of values")
RANGE = ValueForm(_is_range, "takes [lowest, highest], either may be null")
TYPE = ValueForm(_type, f"takes one of {', '.join(TYPE_NAMES)}")
LENGTH = ValueForm(_whole, "takes a length: a whole number, zero or more")
FLAG = ValueForm(_flag, "takes no value, or true or false")
