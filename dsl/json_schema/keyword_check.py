"""The check of a value against a schema, as its keywords use it; and its limits."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from typing import Protocol

from pydantic import JsonValue

from coterie.dsl.values import Json

MAX_ERRORS = 10
"""The maximum number of errors reported for one value."""

_BYTES_A_STEP = 100
_BITS_A_STEP = 200
_NAMES_A_STEP = 20
_MAX_LISTED = 100
"""Names or values that one error lists."""


class UnusableSchema(Exception):
    """The schema is unusable: malformed, endlessly recursive, or too expensive."""


class Check(Protocol):
    """One check and its remaining work allowance."""

    root: Json

    def anchors(self) -> Mapping[str, Json]:
        """Return the anchors of the whole schema."""
        ...

    def charge(self, work: int) -> None:
        """Charge for work.

        Raises:
            UnusableSchema: The check takes too much work.
        """
        ...

    def errors(self, value: JsonValue, schema: JsonValue, where: str, depth: int) -> Iterator[str]:
        """Yield the errors of the value against the schema."""
        ...

    def fits(self, value: JsonValue, schema: JsonValue, depth: int) -> bool:
        """Return whether the value meets the schema."""
        ...

    def equal(self, value: JsonValue, other: JsonValue) -> bool:
        """Return whether two values are equal as JSON."""
        ...


Word = Callable[[Check, Json, JsonValue, str, int], Iterator[str]]
"""Checks one keyword of a schema; yields the errors of the value."""


def excerpt(value: JsonValue, maximum: int = 60) -> str:
    """Render a value on one line, shortened where it is long; a large one is not rendered whole."""
    text = ""
    for piece in _pieces(value, maximum):
        text += piece
        if len(text) > maximum:
            return f"{text[:maximum]}..."
    return text


def _pieces(value: JsonValue, maximum: int) -> Iterator[str]:
    """Yield the JSON of a value piece by piece; of a long text only its beginning."""
    match value:
        case str():
            yield json.dumps(value[:maximum], ensure_ascii=False)
        case list():
            yield "["
            for index, item in enumerate(value):
                yield ", " if index else ""
                yield from _pieces(item, maximum)
            yield "]"
        case dict():
            yield "{"
            for index, (key, item) in enumerate(value.items()):
                yield ", " if index else ""
                yield from _pieces(key, maximum)
                yield ": "
                yield from _pieces(item, maximum)
            yield "}"
        case _:
            yield json.dumps(value)


def names_steps(names: Sized) -> int:
    """Return the work of looking at every name."""
    return len(names) // _NAMES_A_STEP


def text_steps(text: str) -> int:
    """Return the work of copying a text."""
    return len(text) // _BYTES_A_STEP


def number_steps(number: float | None) -> int:
    """Return the work of calculating with a number, or of rendering it."""
    return number.bit_length() // _BITS_A_STEP if isinstance(number, int) else 0


def some_of(texts: Sequence[str]) -> str:
    """Return the texts on one line; of many only the first, and how many follow."""
    rest = len(texts) - _MAX_LISTED
    line = ", ".join(texts[:_MAX_LISTED])
    return f"{line} and {rest} more" if rest > 0 else line


def weight(value: JsonValue) -> int:
    """Estimate the work of traversing the whole value."""
    match value:
        case dict():
            return 1 + sum(text_steps(key) + weight(item) for key, item in value.items())
        case list():
            return 1 + sum(map(weight, value))
        case str():
            return 1 + text_steps(value)
        case int() | float():
            return 1 + number_steps(value)
        case _:
            return 1


def canonical(value: JsonValue) -> str:
    """Return the same text for values that are equal as JSON: 1 is 1.0."""

    def plain(value: JsonValue) -> JsonValue:
        match value:
            case float() if value.is_integer():
                return int(value)
            case dict():
                return {key: plain(item) for key, item in value.items()}
            case list():
                return [plain(item) for item in value]
            case _:
                return value

    return json.dumps(plain(value), sort_keys=True)
