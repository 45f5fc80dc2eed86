"""The schema of a call's arguments: always of an object, with nothing that its caller cannot give.

Models take schemas of objects alone. A contract may also accept a list or null, may name what a
tool fixes, and has titles and aliases that are of no use to a model.
"""

from collections.abc import Collection, Iterator

from coterie.dsl.json_schema.references import target_of
from coterie.dsl.json_values import is_whole_schema
from coterie.dsl.values import Json, JsonValue

QUERY: Json = {"type": "string", "minLength": 1}
"""What every agent takes as `query`, unless its tool declares a whole schema."""

_DROPPED = ("title", "x-also")
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
"""Keywords whose values map names to schemas, so that their keys are names."""


def arguments_schema(schema: Json, fixed: Collection[str] = ()) -> Json | None:
    """Return the object that a schema accepts, without fixed properties; None if it accepts none.

    Args:
        schema: The schema of an input.
        fixed: The names of properties that a caller does not give.
    """
    object_schema = next(_objects(schema, schema, 0), None)
    if object_schema is None:
        return None
    properties = object_schema.get("properties")
    own_properties: Json = properties if isinstance(properties, dict) else {}
    free_properties: Json = {
        name: value for name, value in own_properties.items() if name not in fixed
    }
    required = object_schema.get("required")
    names: list[JsonValue] = list(required) if isinstance(required, list) else []
    needed: list[JsonValue] = [name for name in names if name not in fixed]
    rest = {key: value for key, value in object_schema.items() if key not in ("required", "$defs")}
    result: Json = {**rest, "type": "object", "properties": free_properties}
    if needed:
        result["required"] = needed
    plain = _plain(result)
    assert isinstance(plain, dict)
    defs = _used_definitions(plain, schema)
    return {**plain, "$defs": defs} if defs else plain


def schema_of_properties(properties: Json) -> Json:
    """Return the schema of an agent's arguments: `query`, and optional ones besides it."""
    return {
        "type": "object",
        "properties": {"query": QUERY, **properties},
        "required": ["query"],
        "additionalProperties": False,
    }


def declared_arguments(written: Json | None) -> Json:
    """Return the schema of the arguments of an agent or a team, from its `input_schema`."""
    declared = written or {}
    return declared if is_whole_schema(declared) else schema_of_properties(declared)


def _objects(schema: JsonValue, root: Json, depth: int) -> Iterator[Json]:
    """Yield the forms of a schema that are objects, in written order."""
    if not isinstance(schema, dict) or depth > 10:
        return
    reference = schema.get("$ref")
    if isinstance(reference, str):
        yield from _objects(target_of(root, reference, {}), root, depth + 1)
        return
    if schema.get("type") == "object" or "properties" in schema:
        yield schema
        return
    for word in ("anyOf", "oneOf"):
        forms = schema.get(word)
        for form in forms if isinstance(forms, list) else ():
            yield from _objects(form, root, depth + 1)


def _plain(schema: JsonValue) -> JsonValue:
    """Return a schema without titles and aliases, at any depth."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result: Json = {}
    for key, below in schema.items():
        if key in _DROPPED or (key == "default" and below is None):
            continue
        if key in _MAPS and isinstance(below, dict):
            result[key] = {name: _plain(subschema) for name, subschema in below.items()}
        elif key in ("default", "const", "enum", "examples"):
            result[key] = below
        else:
            result[key] = _plain(below)
    return result


def _used_definitions(schema: Json, root: Json) -> Json:
    """Return the definitions that a schema reaches, plain, in the order of the root."""
    defs = root.get("$defs")
    definitions: Json = defs if isinstance(defs, dict) else {}
    reached_names: set[str] = set()
    ahead: list[JsonValue] = [schema]
    while ahead:
        for name in _references(ahead.pop()):
            if name in definitions and name not in reached_names:
                reached_names.add(name)
                ahead.append(definitions[name])
    return {
        name: _plain(definition)
        for name, definition in definitions.items()
        if name in reached_names
    }


def _references(schema: JsonValue) -> Iterator[str]:
    match schema:
        case dict():
            for key, below in schema.items():
                if key == "$ref" and isinstance(below, str):
                    yield below.removeprefix("#/$defs/")
                else:
                    yield from _references(below)
        case list():
            for item in schema:
                yield from _references(item)
        case _:
            return
