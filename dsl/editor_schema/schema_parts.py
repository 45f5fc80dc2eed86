"""Parts of the schema for editors: references, mappings, properties."""

from typing import cast

from coterie.dsl.values import Json, JsonValue


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
