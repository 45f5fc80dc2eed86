"""What a task's data can look like: paths into declared output schemas, checked before a run."""

from collections.abc import Sequence

from pydantic import JsonValue

from dsl.values import Json

TEXT_ANSWER: Json = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "additionalProperties": False,
}
"""The data of an agent without an `output_schema`."""


def missing_field(schema: JsonValue, path: Sequence[str]) -> tuple[str, list[str]] | None:
    """The first segment that data of this schema can never have, and what it can have there.

    Only what is certain: an object that allows no other properties, or a plain value.
    """
    here: JsonValue = schema
    for segment in path:
        if not isinstance(here, dict) or any(key in here for key in _UNCERTAIN):
            return None
        kind = here.get("type")
        if kind in ("string", "number", "integer", "boolean", "null"):
            return segment, []
        if kind == "array":
            if not segment.isdigit():
                return segment, ["a number"]
            here = here.get("items")
            continue
        properties = here.get("properties")
        if not isinstance(properties, dict):
            return None
        if segment in properties:
            here = properties[segment]
        elif here.get("additionalProperties") is False:
            return segment, sorted(properties)
        else:
            return None
    return None


_UNCERTAIN = ("$ref", "anyOf", "oneOf", "allOf", "if", "not")
