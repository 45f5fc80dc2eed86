"""Numbers that pass through floats: a data part of A2A has no integers. Pure.

Data parts are protobuf values, whose numbers are floats: `7` arrives as `7.0`, and an integer
from 2**53 on perhaps as another one.
"""

from collections.abc import Iterator

from pydantic import JsonValue

MAX_EXACT = 2**53 - 1
"""Up to here, each integer has a float of its own."""
_MAX_LEVELS = 50
"""Nesting that protobuf reads, with room for what stands around a value."""


def is_exact(value: JsonValue) -> bool:
    """Return whether a data part carries a value as it is."""
    return next(_unfit(value, "", 0), None) is None


def inexact_path(value: JsonValue) -> str | None:
    """Return the path of the first part that a data part does not carry; None if there is none."""
    return next(_unfit(value, "", 0), None)


def restored(value: JsonValue) -> JsonValue:
    """Return what came as a data part, with its whole numbers as integers."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: restored(item) for key, item in value.items()}
        case list():
            return [restored(item) for item in value]
        case _:
            return value


def _unfit(value: JsonValue, path: str, level: int) -> Iterator[str]:
    if level > _MAX_LEVELS:
        yield path
        return
    match value:
        case bool() | str() | None:
            pass
        case int() if abs(value) > MAX_EXACT:
            yield path or "the value"
        case float() if value.is_integer() and abs(value) > MAX_EXACT:
            yield path or "the value"
        case dict():
            for key, item in value.items():
                yield from _unfit(item, f"{path}.{key}" if path else key, level + 1)
        case list():
            for place, item in enumerate(value):
                yield from _unfit(item, f"{path}[{place}]", level + 1)
        case _:
            pass
