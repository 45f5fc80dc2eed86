"""The forms of the values that operators take: the compiler refuses any other value."""

from collections.abc import Callable
from typing import NamedTuple

from pydantic import JsonValue

from dsl.evaluate.operators.operator_tests import TYPE_NAMES, as_number


class ValueForm(NamedTuple):
    """Which values an operator takes."""

    fits: Callable[[JsonValue], bool]
    wanted: str
    """What an operator says of it: `takes a list of values`."""
    is_pattern: bool = False
    """Whether a text of this form is a regular expression."""


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


ANY = ValueForm(lambda _: True, "takes any value")
COMPARABLE = ValueForm(_comparable, "compares with a number or a text")
TEXT = ValueForm(_text, "compares with a text")
PATTERN = ValueForm(_text, "takes a regular expression as a text", is_pattern=True)
LIST = ValueForm(lambda value: isinstance(value, list), "takes a list of values")
CONTAINER = ValueForm(lambda value: isinstance(value, list | str | dict), "takes a list of values")
RANGE = ValueForm(_ranged, "takes [lowest, highest], either may be null")
TYPE = ValueForm(lambda value: value in TYPE_NAMES, f"takes one of {', '.join(TYPE_NAMES)}")
LENGTH = ValueForm(_whole, "takes a length: a whole number, zero or more")
FLAG = ValueForm(
    lambda value: value is None or isinstance(value, bool), "takes no value, or true or false"
)
