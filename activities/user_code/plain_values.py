"""Convert Python values of user code to JSON, or name the field that is not JSON.

A child process imports this beside the user's code: at run time it uses only the standard library.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pydantic import JsonValue

MAX_DEPTH = 100


class NotJson(Exception):
    """A value that JSON does not have; the message says where it is."""


def as_json(value: object, where: str, depth: int = 0) -> "JsonValue":
    """Convert the value to JSON, in new mappings and lists; tuples become lists.

    Raises:
        NotJson: A part of it is not JSON: `data.items[2].at is a datetime`.
    """
    if depth > MAX_DEPTH:
        raise NotJson(f"{where[:60]}... is nested deeper than {MAX_DEPTH} levels")
    match value:
        case None | bool() | int() if type(value) in (type(None), bool, int):
            return value
        case float() if type(value) is float and math.isfinite(value):
            return value
        case str() if type(value) is str:
            return _text(value, where)
        case list() | tuple():
            items = cast("Sequence[object]", value)
            return [as_json(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(items)]
        case Mapping():
            mapping = cast("Mapping[object, object]", value)
            return {
                _key(key, where): as_json(item, f"{where}.{key}", depth + 1)
                for key, item in mapping.items()
            }
        case float() if not math.isfinite(value):
            raise NotJson(f"{where} is {value}")
        case _:
            raise NotJson(f"{where} is a {type(value).__name__}")


def check_finite_parts(value: object, where: str) -> None:
    """Raise NotJson if a number in mappings, lists, tuples or sets is NaN or infinite."""
    match value:
        case float() if not math.isfinite(value):
            raise NotJson(f"{where} is {value}")
        case Mapping():
            for key, item in cast("Mapping[object, object]", value).items():
                check_finite_parts(item, f"{where}.{key}")
        case list() | tuple() | set() | frozenset():
            for i, item in enumerate(cast("Collection[object]", value)):
                check_finite_parts(item, f"{where}[{i}]")
        case _:
            return


def _key(key: object, where: str) -> str:
    if type(key) is not str:
        raise NotJson(f"{where} has the key {key!r}, which is a {type(key).__name__}")
    return _text(key, where)


def _text(text: str, where: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotJson(f"{where} contains half of a surrogate pair, not a character") from None
    return text
