"""Dotted paths into JSON: `review_outcome.findings.0.file`, `findings[0].file`, `files["a.py"]`.

Parsed once per text, then followed without failing: a missing value is MISSING.

Code that every step of a run uses tells types apart by `match`, not by `isinstance`: the sandbox of
workflows replaces that one by a function of its own, which is far slower.
"""

import json
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final, Literal, cast

from pydantic import JsonValue

from coterie.dsl.values import Json

Path = tuple[str, ...]


class Missing(Enum):
    """The type of MISSING, a missing value, which is not the same as null."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING

_INDEX = re.compile(r"\[(\d+)\]", re.ASCII)
_QUOTED = re.compile(r'\[("(?:[^"\\]|\\.)*")\]')
"""A segment that holds what separates segments, as a JSON text."""

_PLAIN = re.compile(r'[^.\[\]"]+\Z')
_NUMBER = re.compile(r"[0-9]{1,9}\Z")
"""An index; not every digit of Unicode is a number, and not every number fits."""


@lru_cache(maxsize=4096)
def parse(text: str) -> Path:
    """Return the segments of a dotted path; `a[0].b` equals `a.0.b`; `""` is the whole value."""
    if not text:
        return ()
    if '["' not in text:
        return _dotted_path(text)
    segments: list[str] = []
    for number, part in enumerate(_QUOTED.split(text)):
        if number % 2:
            segments.append(_without_quotes(part))
        elif part.strip("."):
            segments += _dotted_path(part.removesuffix("."))
    return tuple(segments)


def _without_quotes(text: str) -> str:
    try:
        return cast("str", json.loads(text))
    except ValueError:
        return text


def _dotted_path(text: str) -> Path:
    return tuple(_INDEX.sub(r".\1", text).lstrip(".").split("."))


def has_empty_part(text: str) -> bool:
    """Return whether a dotted path has nothing before, after or between dots; `[""]` is a part."""
    plain = _QUOTED.sub("[0]", text)
    return not text or "" in plain.replace("[", ".[").removeprefix(".[").split(".")


def path_text(path: Path) -> str:
    """Return the path as a text that `parse` reads; a segment with dots is written `["..."]`."""
    text = ""
    for segment in path:
        if not _PLAIN.match(segment):
            text += f"[{json.dumps(segment, ensure_ascii=False)}]"
        else:
            text += f".{segment}" if text else segment
    return text


def get(value: object, path: Path) -> JsonValue | Literal[Missing.MISSING]:
    """Return the value at the path, or MISSING; a number selects an item of a list."""
    for segment in path:
        match value:
            case dict() | Mapping():
                mapping = cast("Mapping[str, object]", value)
                value = mapping.get(segment, MISSING)
            case list() | tuple() if _NUMBER.match(segment):
                items = cast("Sequence[object]", value)
                index = int(segment)
                value = items[index] if index < len(items) else MISSING
            case _:
                return MISSING
        if value is MISSING:
            return MISSING
    return cast("JsonValue", value)  # a part of a JSON value is JSON


def put(tree: Json, path: Path, value: JsonValue) -> Json:
    """Return a new mapping with `value` at the path; mappings on the way are made or copied.

    Raises:
        ValueError: the path is empty, or leads through a value that is not a mapping.
    """
    if not path:
        raise ValueError("a path to write to has at least one segment")
    first, rest = path[0], path[1:]
    if not rest:
        return {**tree, first: value}
    below = tree.get(first, {})
    if not isinstance(below, dict):
        raise ValueError(f"{first!r} holds {type(below).__name__}, not a mapping")
    return {**tree, first: put(below, rest, value)}


def overlap(one: Path, other: Path) -> bool:
    """Return whether a change at one path shows at the other: one contains the other."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
