"""Kinds of JSON values, their equality, and their digest."""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Literal, cast

from pydantic import JsonValue

from coterie.dsl.paths import Missing
from coterie.dsl.values import Json, NodePath


def json_equal(left: JsonValue | Literal[Missing.MISSING], right: JsonValue) -> bool:
    """Return JSON equality: 1 is 1.0, but true is not 1, at any depth; MISSING equals nothing."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(json_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(json_equal(left[k], right[k]) for k in left)
    return left == right


def describe_kind(value: JsonValue) -> str:
    """Name what a value is, with its article: `a text`, `null`."""
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case None:
            return "null"


def texts_within(value: object, path: NodePath = ()) -> Iterator[tuple[str, NodePath]]:
    """Yield each text of a JSON value besides its keys, and its path."""
    match value:
        case str():
            yield value, path
        case dict():
            for key, item in cast("dict[str, object]", value).items():
                yield from texts_within(item, (*path, key))
        case list():
            for index, item in enumerate(cast("list[object]", value)):
                yield from texts_within(item, (*path, index))
        case _:
            return


def json_digest(*values: JsonValue) -> str:
    """Return the SHA-256 of some values: 64 hexadecimal digits."""
    return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def is_whole_schema(written: Json) -> bool:
    """Return whether a mapping is a JSON Schema of an object, and not `{name: schema}`."""
    return isinstance(written.get("type"), str) or isinstance(written.get("$ref"), str)
