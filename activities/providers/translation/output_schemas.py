"""Convert a JSON Schema for the structured-output features of the APIs.

The APIs accept a subset: objects are closed, `any` is impossible, most bounds are unknown. The
answer is checked against the whole schema afterwards, so narrowing is harmless; a dropped bound
moves into the description, where the model can read it.
"""

import json
from typing import cast

from coterie.activities.providers.provider import ModelRequest, ProviderSettings
from coterie.activities.providers.translation.request_checks import call_settings
from coterie.dsl.model.vendors.vendors import broken_rules
from coterie.dsl.values import Json, JsonValue

_KEPT = ("title", "description", "type", "enum", "const", "required")
_MEANS_NOTHING = ("$schema", "$id", "$comment", "default", "examples", "$defs", "definitions")


class _Inexpressible(Exception):
    """The subset cannot express this schema."""


def strict_schema(schema: Json) -> Json | None:
    """Copy the schema for a strict feature, or return None if its subset cannot express it.

    None for recursive schemas, and for those that somewhere allow any value or any key.
    """
    try:
        return _Copier(schema).root()
    except _Inexpressible:
        return None


def requires_every_key(schema: JsonValue) -> bool:
    """Return whether no object in a strict schema has an optional property."""
    if isinstance(schema, list):
        return all(requires_every_key(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict) and _has_type(schema, "object"):
        required = schema.get("required")
        if set(properties) != set(required if isinstance(required, list) else ()):
            return False
    return all(requires_every_key(value) for value in schema.values())


def goes_in_words(request: ModelRequest, settings: ProviderSettings) -> bool:
    """Return whether the vendor's feature for output schemas refuses the schema of this call."""
    call = call_settings(request, settings)
    return any(broken_rules(settings.vendor_api, call, "in_words"))


def with_words(system: str | None, schema: Json) -> str:
    """Return the system prompt with the schema in words."""
    words = in_words(schema)
    return f"{system}\n\n{words}" if system else words


def openai_format(
    request: ModelRequest, settings: ProviderSettings
) -> tuple[str | None, Json | None]:
    """Return the system prompt and the format of the answer; one of the two carries the schema.

    Use strict mode only if every key is required, as it demands: to require more keys than the
    persona's schema does would make the model invent values.
    """
    system, schema = request.system, request.output_schema
    if schema is None:
        return system, None
    if goes_in_words(request, settings):
        return with_words(system, schema), None
    narrowed = strict_schema(schema)
    strict = narrowed is not None and requires_every_key(narrowed)
    chosen = narrowed if narrowed is not None and strict else schema
    return system, {"name": "answer", "schema": dict(chosen), "strict": strict}


def in_words(schema: Json) -> str:
    """Describe the schema in words, for APIs without a feature for it."""
    return (
        "Answer with one JSON value that matches this JSON Schema, and with nothing else:\n"
        + json.dumps(schema, ensure_ascii=False)
    )


class _Copier:
    """Copies one schema; each `$ref` is copied once and must not be recursive."""

    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self._copied: Json = {}
        self._open: set[str] = set()

    def root(self) -> Json:
        copy = self._node(self._schema)
        return {**copy, "$defs": self._copied} if self._copied else copy

    def _node(self, schema: JsonValue) -> Json:
        if not isinstance(schema, dict):
            raise _Inexpressible  # true: any value
        if "$ref" in schema:
            return {"$ref": self._reference(schema["$ref"])}
        rest = {key: value for key, value in schema.items() if key not in _MEANS_NOTHING}
        copy: Json = {key: rest.pop(key) for key in _KEPT if key in rest}
        if any(isinstance(value, dict | list) for value in _literals(copy)):
            raise _Inexpressible
        options = rest.pop("anyOf", None) or rest.pop("oneOf", None)
        if isinstance(options, list):
            copy["anyOf"] = [self._node(option) for option in options]
        elif not any(key in copy for key in ("type", "enum", "const")):
            raise _Inexpressible
        self._object(copy, rest)
        self._array(copy, rest)
        if rest:
            description = str(copy["description"]) + " " if "description" in copy else ""
            copy["description"] = description + json.dumps(rest, ensure_ascii=False)
        return copy

    def _object(self, copy: Json, rest: Json) -> None:
        if not _has_type(copy, "object"):
            return
        properties = rest.pop("properties", None)
        closed = rest.pop("additionalProperties", False) is False
        if not isinstance(properties, dict) or not closed or "patternProperties" in rest:
            raise _Inexpressible
        copy["properties"] = {key: self._node(value) for key, value in properties.items()}
        copy["additionalProperties"] = False
        copy.setdefault("required", [])

    def _array(self, copy: Json, rest: Json) -> None:
        if _has_type(copy, "array"):
            copy["items"] = self._node(rest.pop("items", True))

    def _reference(self, pointer: JsonValue) -> str:
        room, _, name = str(pointer).removeprefix("#/").partition("/")
        definitions = self._schema.get(room)
        if room not in ("$defs", "definitions") or not isinstance(definitions, dict):
            raise _Inexpressible
        if name not in definitions or name in self._open:
            raise _Inexpressible
        if name not in self._copied:
            self._open.add(name)
            self._copied[name] = self._node(cast("Json", definitions)[name])
            self._open.remove(name)
        return f"#/$defs/{name}"


def _literals(schema: Json) -> list[JsonValue]:
    values = schema.get("enum")
    return [*(values if isinstance(values, list) else ()), schema.get("const")]


def _has_type(schema: Json, name: str) -> bool:
    types = schema.get("type")
    return types == name or (isinstance(types, list) and name in types)
