"""Parts of JSON Schemas for editors: references, mappings, rules between keys."""

from typing import cast

from coterie.dsl.values import Json, JsonValue


def has(*keys: str) -> Json:
    """Demand these keys."""
    return {"required": list(keys)}


def has_key(key: str) -> Json:
    """Demand a key with a value."""
    return {**has(key), "properties": {key: {"not": {"type": "null"}}}}


def none_of(*keys: str) -> Json:
    """Refuse these keys."""
    return {"not": {"anyOf": [has(key) for key in keys]}}


NOT_EMPTY: Json = {"type": "array", "minItems": 1}


def ref(name: str, **more: JsonValue) -> Json:
    """Return a reference to a definition."""
    return {"$ref": f"#/$defs/{name}", **more}


def mapping(properties: Json, *required: str, **more: JsonValue) -> Json:
    """Return a mapping with these keys and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": list(required),
        **more,
    }


def properties_of(schema: JsonValue) -> Json:
    """Return the properties of the schema of a mapping."""
    assert isinstance(schema, dict)
    return cast("Json", schema["properties"])
