"""Dotted paths into JSON: `review_outcome.findings.0.file`, `findings[0].file`.

Parsed once per text, then followed without failing: what is not there is MISSING.

Whatever every step of a run comes by tells types apart by patterns, not by `isinstance`: the
sandbox of workflows puts a function of its own in that one's place, which is far slower.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final, Literal, cast

from pydantic import JsonValue

from dsl.values import Json

Path = tuple[str, ...]


class Missing(Enum):
    """The type of MISSING: nothing is there, which is not the same as null."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING

_INDEX = re.compile(r"\[(\d+)\]", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,9}\Z")
"""An index; not every digit of Unicode's is a number, and not every number fits."""


@lru_cache(maxsize=4096)
def parse(text: str) -> Path:
    """The segments of a dotted path; `a[0].b` reads like `a.0.b`; `""` is the whole value."""
    if not text:
        return ()
    return tuple(_INDEX.sub(r".\1", text).lstrip(".").split("."))


def get(value: object, path: Path) -> JsonValue | Literal[Missing.MISSING]:
    """What lies at the path, or MISSING; lists are entered by a number."""
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
    return cast("JsonValue", value)  # a part of a JSON value is one


def put(tree: Json, path: Path, value: JsonValue) -> Json:
    """A new mapping with `value` at the path; mappings on the way are made or copied.

    Raises:
        ValueError: the path is empty, or leads through something that is not a mapping.
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


def overlap(one: str, other: str) -> bool:
    """Whether a change at one path is seen at the other: they are equal, or one leads on."""
    left, right = parse(one), parse(other)
    shorter = min(len(left), len(right))
    return left[:shorter] == right[:shorter]
