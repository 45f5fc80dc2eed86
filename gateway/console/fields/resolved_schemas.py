"""Read a JSON Schema as one that a form can follow: references, `allOf` and null resolved. Pure."""

from collections.abc import Mapping
from typing import NamedTuple, cast

from pydantic import JsonValue

from coterie.dsl.json_schema.references import is_own, target_of
from coterie.dsl.values import Json

_MAX_STEPS = 20


class Resolved(NamedTuple):
    """A schema without references at its top."""

    schema: Json
    root: Json
    """Where references of its parts lead."""
    is_nullable: bool


def resolved(schema: JsonValue, root: Json, steps: int = 0) -> Resolved:
    """Return a schema with its references followed and its `allOf` joined."""
    if not isinstance(schema, dict) or steps > _MAX_STEPS:
        return Resolved({}, root, is_nullable=False)
    root = schema if "$id" in schema else root
    reference = schema.get("$ref")
    if isinstance(reference, str) and is_own(reference):
        target = resolved(target_of(root, reference, {}), root, steps + 1)
        own = {key: value for key, value in schema.items() if key != "$ref"}
        return Resolved({**target.schema, **own}, root, target.is_nullable)
    parts = schema.get("allOf")
    if isinstance(parts, list):
        whole: Json = {key: value for key, value in schema.items() if key != "allOf"}
        for part in parts:
            whole = _with_part(whole, resolved(part, root, steps + 1).schema)
        schema = whole
    return _without_null(schema, root, steps)


def _with_part(whole: Json, part: Json) -> Json:
    """Return a schema with what another one adds."""
    properties, required = _mapping(whole, "properties"), _items(whole, "required")
    for name, more in _mapping(part, "properties").items():
        before = properties.get(name)
        both = isinstance(before, dict) and isinstance(more, dict)
        properties[name] = {**cast("Json", before), **cast("Json", more)} if both else more
    required += [name for name in _items(part, "required") if name not in required]
    joined: Json = {**part, **whole}
    if properties:
        joined["properties"] = properties
    if required:
        joined["required"] = required
    return joined


def _without_null(schema: Json, root: Json, steps: int) -> Resolved:
    """Return the one other choice of a schema that also allows null."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        others = [kind for kind in kinds if kind != "null"]
        if len(others) == 1:
            return Resolved({**schema, "type": others[0]}, root, is_nullable="null" in kinds)
    for word in ("anyOf", "oneOf"):
        options = schema.get(word)
        if not isinstance(options, list) or {"type": "null"} not in options:
            continue
        others = [option for option in options if option != {"type": "null"}]
        if len(others) == 1:
            own = {key: value for key, value in schema.items() if key != word}
            found = resolved(others[0], root, steps + 1)
            return Resolved({**found.schema, **own}, found.root, is_nullable=True)
    return Resolved(schema, root, is_nullable=False)


def shape_of(value: JsonValue) -> Json:
    """Return the schema of what a changed value must look like, if nothing declares it."""
    match value:
        case bool():
            return {"type": "boolean"}
        case int() | float():
            return {"type": "number"}
        case str():
            return {"type": "string"}
        case list():
            return {"type": "array", "items": shape_of(value[0]) if value else {}}
        case dict():
            properties: Json = {key: shape_of(part) for key, part in value.items()}
            return {"type": "object", "properties": properties, "required": list(value)}
        case None:
            return {}


def _mapping(schema: Mapping[str, JsonValue], key: str) -> Json:
    found = schema.get(key)
    return dict(found) if isinstance(found, dict) else {}


def _items(schema: Mapping[str, JsonValue], key: str) -> list[JsonValue]:
    found = schema.get(key)
    return list(found) if isinstance(found, list) else []
