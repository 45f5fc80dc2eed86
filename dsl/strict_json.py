"""Strict JSON: texts that every parser reads alike, and values that UTF-8 can carry. Pure."""

import json
import math
from typing import Literal, NamedTuple, NoReturn, cast

from coterie.dsl.errors import RunRefused
from coterie.dsl.values import Json, JsonValue
from coterie.dsl.visible import is_unicode

MAX_DEPTH = 100
"""Maximum nesting of a value from outside; deeper ones break later readers."""


class JsonRefused(ValueError):
    """A text that is JSON for some parsers, and that they read differently."""


def read_json(text: str | bytes, max_depth: int = MAX_DEPTH) -> JsonValue:
    """Parse a JSON text; this is the only reader of JSON that people and models write.

    Raises:
        JsonRefused: It has a key twice, NaN, a number beyond all numbers, half of a surrogate pair,
            or too many levels.
        ValueError: It is not JSON.
    """
    if isinstance(text, bytes):
        text = text.decode()
    try:
        value = cast("JsonValue", _DECODER.decode(text))
    except _NoNumber as error:
        raise JsonRefused(_describe_number(error, text)) from None
    except RecursionError:
        raise JsonRefused(_too_deep(max_depth)) from None
    if ("\\u" in text or not is_unicode(text)) and (part := unsound_part(value)) is not None:
        raise JsonRefused(str(part))
    if text.count("[") + text.count("{") > max_depth and _is_deeper(value, max_depth):
        raise JsonRefused(_too_deep(max_depth))
    return value


def _too_deep(levels: int) -> str:
    return f"it is nested deeper than the {levels} levels that are allowed"


def _is_deeper(value: JsonValue, levels: int) -> bool:
    match value:
        case dict():
            inner = value.values()
        case list():
            inner = value
        case _:
            return False
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in inner)


class UnsoundPart(NamedTuple):
    """A part of a value that JSON or UTF-8 cannot carry."""

    path: str
    """Dotted; of a key, that of its mapping."""
    part: Literal["number", "text", "key"]

    def __str__(self) -> str:
        """Describe it, in a sentence that begins with its path."""
        where = repr(self.path) if self.path else "it"
        match self.part:
            case "number":
                return f"{where} is not a JSON number (NaN or infinite)"
            case "text":
                return f"{where} contains half of a surrogate pair, which is not a character"
            case "key":
                return f"{where} has a key with half of a surrogate pair, which is not a character"


def unsound_part(value: JsonValue, path: str = "") -> UnsoundPart | None:
    """Return the first part that JSON or UTF-8 cannot carry, or None."""
    match value:
        case float() if not math.isfinite(value):
            return UnsoundPart(path, "number")
        case str() if not is_unicode(value):
            return UnsoundPart(path, "text")
        case dict():
            if not all(map(is_unicode, value)):
                return UnsoundPart(path, "key")
            below = value.items()
        case list():
            below = ((str(number), item) for number, item in enumerate(value))
        case _:
            return None
    for name, item in below:
        part = unsound_part(item, f"{path}.{name}" if path else name)
        if part is not None:
            return part
    return None


def check_context(context: Json) -> None:
    """Refuse the context of a start that JSON cannot hold.

    Raises:
        RunRefused: Names the path.
    """
    part = unsound_part(context)
    if part is not None:
        raise RunRefused(f"in the context, {part}; start the run with another value there")


class _NoNumber(ValueError):
    """A number that only some parsers take: NaN, Infinity, `1e400`."""


def _describe_number(error: _NoNumber, text: str) -> str:
    """Name the number by its path."""
    try:
        part = unsound_part(cast("JsonValue", json.loads(text)))
    except (ValueError, RecursionError):
        part = None
    return f"{error} is not a JSON number" if part is None else str(part)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _no_number(word: str) -> NoReturn:
    raise _NoNumber(word[:40])


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise JsonRefused(f"{text[:40]}... has too many digits") from None


def _unique(pairs: list[tuple[str, JsonValue]]) -> Json:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        earlier_keys: set[str] = set()
        key = next(key for key, _ in pairs if key in earlier_keys or earlier_keys.add(key))
        raise JsonRefused(f"it has the key {key[:80]!r} twice in one object")
    return mapping


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_constant=_no_number,
    parse_float=_finite,
    parse_int=_integer,
)
