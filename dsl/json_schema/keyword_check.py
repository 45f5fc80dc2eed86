"""The check of a value against a schema, as its keywords use it; and its limits."""

import json
from collections.abc import Callable, Iterator
from typing import Protocol

from pydantic import JsonValue

from dsl.values import Json

MAX_ERRORS = 5
"""The maximum number of errors reported for one value."""

_BYTES_A_STEP = 100


class UnusableSchema(Exception):
    """The schema is unusable: malformed, endlessly recursive, or too expensive."""


class Check(Protocol):
    """One check and its remaining work allowance."""

    root: Json

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


def brief(value: JsonValue, most: int = 60) -> str:
    """Render a value on one line, shortened where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else f"{text[:most]}..."


def weight(value: JsonValue) -> int:
    """Estimate the work of traversing the whole value."""
    match value:
        case dict():
            return 1 + sum(map(weight, value.values()))
        case list():
            return 1 + sum(map(weight, value))
        case str():
            return 1 + len(value) // _BYTES_A_STEP
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
