"""Check a tool's arguments by the kind of each field: code, command, path, URL; never prose.

A schema declares a field's kind with `x-kind`. A field without a kind is prose: "please format the
report" passes.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, get_args

from pydantic import JsonValue

from coterie.dsl.safety.blocked_code import blocked_code
from coterie.dsl.safety.blocked_commands import blocked_command
from coterie.dsl.safety.blocked_places import blocked_path, blocked_url
from coterie.dsl.safety.blocked_rules import Blocked, FieldKind, blocked_text
from coterie.dsl.schema_keys import ALSO, KIND
from coterie.dsl.values import Json

FIELD_KINDS: Final[tuple[FieldKind, ...]] = get_args(FieldKind)

_MAX_DEPTH = 64


class BlockedField(NamedTuple):
    """A field whose text is blocked."""

    path: tuple[str | int, ...]
    kind: FieldKind
    blocked: Blocked


def blocked_fields(schema: Json, value: JsonValue) -> tuple[BlockedField, ...]:
    """Return every field of a value whose text is blocked for its kind, in order, each once."""
    return tuple(dict.fromkeys(_blocked_fields(schema, schema, value, (), 0)))


def describe_blocked(field: BlockedField) -> str:
    """Explain a blocked field: where, what, and what to do instead."""
    name = ".".join(map(str, field.path)) or field.kind
    return f"{name}: {blocked_text(*field.blocked)}"


def judge(kind: FieldKind, text: str) -> Blocked | None:
    """Return why a text of this kind is blocked."""
    match kind:
        case "code":
            return blocked_code(text)
        case "command":
            return blocked_command(text)
        case "path":
            return blocked_path(text)
        case "url":
            return blocked_url(text)


def _blocked_fields(
    root: Json, schema: JsonValue, value: JsonValue, path: tuple[str | int, ...], depth: int
) -> Iterator[BlockedField]:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return
    kind = schema.get(KIND)
    if kind in FIELD_KINDS:
        yield from _blocked_in_value(kind, value, path)
    for other in _alternatives(root, schema):
        yield from _blocked_fields(root, other, value, path, depth + 1)
    match value:
        case dict():
            for key, child in value.items():
                for inner in _of_property(schema, key):
                    yield from _blocked_fields(root, inner, child, (*path, key), depth + 1)
        case list():
            for index, child in enumerate(value):
                yield from _blocked_fields(
                    root, _of_item(schema, index), child, (*path, index), depth + 1
                )
        case _:
            return


def _blocked_in_value(
    kind: FieldKind, value: JsonValue, path: tuple[str | int, ...]
) -> Iterator[BlockedField]:
    """Judge a text, or each text of a list."""
    match value:
        case str():
            blocked = judge(kind, value)
            if blocked is not None:
                yield BlockedField(path, kind, blocked)
        case list():
            for index, item in enumerate(value):
                yield from _blocked_in_value(kind, item, (*path, index))
        case _:
            return


def _alternatives(root: Json, schema: Json) -> Iterator[JsonValue]:
    for keyword in ("anyOf", "oneOf", "allOf"):
        options = schema.get(keyword)
        if isinstance(options, list):
            yield from options
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        definitions = root.get("$defs")
        if isinstance(definitions, dict):
            yield definitions.get(reference.removeprefix("#/$defs/"))


def _of_property(schema: Json, key: str) -> Iterator[JsonValue]:
    properties = schema.get("properties")
    if isinstance(properties, dict) and key in properties:
        yield properties[key]
        return
    named = [mapping for mapping in _mappings(properties) if key in _also(mapping)]
    yield from named
    if not named:
        yield schema.get("additionalProperties")


def _mappings(properties: JsonValue) -> Iterator[Json]:
    if isinstance(properties, dict):
        yield from (mapping for mapping in properties.values() if isinstance(mapping, dict))


def _also(schema: Json) -> list[JsonValue]:
    """Return the further names of a property."""
    names = schema.get(ALSO)
    return names if isinstance(names, list) else []


def _of_item(schema: Json, index: int) -> JsonValue:
    first = schema.get("prefixItems")
    if isinstance(first, list) and index < len(first):
        return first[index]
    return schema.get("items")
