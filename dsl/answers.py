"""What a task's data can look like: paths into declared output schemas, before any run."""

from collections.abc import Sequence
from typing import TypeGuard

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
        here, there = _below(here, segment)
        if there is not None:
            return segment, there
    return None


def schema_at(schema: JsonValue, path: Sequence[str]) -> Json | None:
    """What the schema says of the data at the path; None where that is not certain."""
    here: JsonValue = schema
    for segment in path:
        here, _ = _below(here, segment)
    return here if _certain(here) else None


def _below(here: JsonValue, segment: str) -> tuple[JsonValue, list[str] | None]:
    """The schema of a segment, None when it is not known; and what there is when that is not."""
    if not _certain(here):
        return None, None
    kind = here.get("type")
    if kind in ("string", "number", "integer", "boolean", "null"):
        return None, []
    if kind == "array":
        if not segment.isdigit():
            return None, ["a number"]
        return (None if "prefixItems" in here else here.get("items")), None
    properties = here.get("properties")
    if not isinstance(properties, dict):
        return None, None
    if segment in properties:
        return properties[segment], None
    closed = here.get("additionalProperties") is False and "patternProperties" not in here
    return None, sorted(properties) if closed else None


def _certain(here: JsonValue) -> TypeGuard[Json]:
    return isinstance(here, dict) and not any(key in here for key in _UNCERTAIN)


_UNCERTAIN = ("$ref", "anyOf", "oneOf", "allOf", "if", "not")
