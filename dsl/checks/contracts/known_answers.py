"""The possible data of a task: paths into declared output schemas, before any run."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeGuard

from pydantic import JsonValue

from coterie.dsl.values import Json

MAX_DEPTH = 30
"""Maximum nesting of a schema that is read."""


class MissingField(NamedTuple):
    """A segment that data can never have."""

    segment: str
    names: Sequence[Collection[str]]
    """The names that each alternative can have there."""

    @property
    def known(self) -> list[str]:
        """The names that it can have there, sorted."""
        return sorted({name for names in self.names for name in names})


def missing_field(schema: JsonValue, path: Sequence[str]) -> MissingField | None:
    """Return the first segment that data of this schema can never have, and the possible names.

    Only what is certain: an object without additional properties, or a plain value. Of several
    alternatives, none has the segment.
    """
    root = schema if isinstance(schema, dict) else {}
    forms: list[JsonValue] = [schema]
    for segment in path:
        results = [_below(form, segment) for form in _forms(forms, root)]
        if not results:
            return None
        names = [there for _, there in results if there is not None]
        if len(names) == len(results):
            return MissingField(segment, names)
        forms = [below for below, there in results if there is None]
    return None


def schema_at(schema: JsonValue, path: Sequence[str]) -> Json | None:
    """Return the schema of the data at the path; None if it is not certain."""
    root = schema if isinstance(schema, dict) else {}
    here: JsonValue = resolved(schema, root)
    for segment in path:
        below, _ = _below(here, segment)
        here = resolved(below, root)
    return here if _certain(here) else None


_MAX_FORMS = 50


def _forms(schemas: Sequence[JsonValue], root: Json) -> list[JsonValue]:
    """Return the alternatives of unions; null is left out, since it has no fields."""
    forms: list[JsonValue] = []
    ahead = [*schemas]
    while ahead and len(forms) + len(ahead) <= _MAX_FORMS:
        here = resolved(ahead.pop(), root)
        union = (
            next((here[key] for key in ("anyOf", "oneOf") if key in here), None)
            if (isinstance(here, dict))
            else None
        )
        if isinstance(union, list):
            ahead += union
        elif not (isinstance(here, dict) and here.get("type") == "null"):
            forms.append(here)
    return [None] if ahead else forms


def _below(here: JsonValue, segment: str) -> tuple[JsonValue, Collection[str] | None]:
    """Return the schema of a segment, None if unknown; the possible names if impossible."""
    if not _certain(here):
        return None, None
    kind = here.get("type")
    if kind == "string" and segment.isdigit():
        return None, None  # an index selects one of its characters
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
    return None, properties if closed else None


def _certain(here: JsonValue) -> TypeGuard[Json]:
    return isinstance(here, dict) and not any(key in here for key in _UNCERTAIN)


_UNCERTAIN = ("$ref", "anyOf", "oneOf", "allOf", "if", "not")


_MAX_DEPTH = 12
"""Maximum levels of an inlined schema; deeper levels are left open."""


def inlined(schema: Json) -> Json:
    """Return the schema with its references inlined, so that another schema can contain it."""

    def alone(part: JsonValue, depth: int) -> JsonValue:
        if depth > _MAX_DEPTH:
            return {}  # a recursive schema
        here = resolved(part, schema)
        if isinstance(here, list):
            return [alone(item, depth) for item in here]
        if not isinstance(here, dict):
            return here
        return {key: alone(below, depth + 1) for key, below in here.items() if key != "$defs"}

    result = alone(schema, 0)
    return result if isinstance(result, dict) else {}


def resolved(schema: JsonValue, root: Json) -> JsonValue:
    """Return the schema that a `$ref` within the document leads to; None if it leads nowhere."""
    for _ in range(MAX_DEPTH):
        if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            return schema
        parts = str(schema["$ref"]).removeprefix("#").split("/")[1:]
        here: JsonValue = root
        for part in parts:
            here = here.get(part) if isinstance(here, dict) else None
        schema = here
    return None
