"""Schemas of OpenAPI documents as JSON Schema (draft 2020-12), each complete in itself. Pure."""

import re

from coterie.dsl.apis.openapi_reading import ApiDocument, Unreadable
from coterie.dsl.json_schema.patterns import schema_pattern
from coterie.dsl.values import Json, JsonValue

_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames")
_SINGLE_NEXT = ("then", "unevaluatedItems", "unevaluatedProperties")
_NAMED = ("properties", "dependentSchemas")
_KEPT = (
    *("type", "const", "enum", "default", "description", "format", "required", "multipleOf"),
    *("maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength"),
    *("maxItems", "minItems", "uniqueItems", "maxContains", "minContains"),
    *("maxProperties", "minProperties", "dependentRequired"),
)
"""Keywords whose values stay; others are of use to people or code generators only."""
_BOUNDS = {"exclusiveMaximum": "maximum", "exclusiveMinimum": "minimum"}
_MAX_DEPTH = 60
_MAX_DEFINITIONS = 500


class SchemaTranslator:
    """Translates the schemas of one operation; it collects the definitions that they reach."""

    def __init__(self, document: ApiDocument) -> None:
        self._document = document
        self._names: dict[str, str] = {}
        self._used: set[str] = set()

    def definitions(self) -> Json:
        """Return all definitions that were referred to so far, and those that these refer to.

        Raises:
            Unreadable: One refers to what is not in the document.
        """
        found: Json = {}
        while ahead := [
            reference for reference in self._names if self._names[reference] not in found
        ]:
            for reference in ahead:
                target = self._document.target(reference)
                found[self._names[reference]] = self.translated(target)
                if len(found) > _MAX_DEFINITIONS:
                    raise Unreadable(f"it reaches more than {_MAX_DEFINITIONS} schemas")
        return found

    def translated(self, schema: JsonValue, depth: int = 0) -> JsonValue:
        """Return a schema for what a caller sends.

        Raises:
            Unreadable: It nests too deep.
        """
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            return {}
        if depth > _MAX_DEPTH:
            raise Unreadable("a schema is nested too deep")
        reference = schema.get("$ref")
        if isinstance(reference, str):
            own: Json = {"$ref": f"#/$defs/{self._definition(reference)}"}
            return own if self._document.is_old else self._keywords(schema, depth) | own
        return self._keywords(schema, depth)

    def _definition(self, reference: str) -> str:
        """Return the name of the definition for a reference."""
        name = self._names.get(reference)
        if name is None:
            name = self._free_name(reference.rpartition("/")[2])
            self._names[reference] = name
            self._used.add(name)
        return name

    def _free_name(self, wanted: str) -> str:
        base = re.sub(r"[^A-Za-z0-9_.-]+", "_", wanted) or "schema"
        numbers = (f"{base}_{number}" for number in range(2, 10_000))
        return next(name for name in (base, *numbers) if name not in self._used)

    def _keywords(self, schema: Json, depth: int) -> Json:
        result: Json = {key: schema[key] for key in _KEPT if key in schema}
        for key in (*_SINGLE, *_SINGLE_NEXT):
            if key in schema:
                result[key] = self.translated(schema[key], depth + 1)
        for key in _LISTS:
            parts = schema.get(key)
            if isinstance(parts, list):
                result[key] = [self.translated(part, depth + 1) for part in parts]
        for key in _NAMED:
            parts = schema.get(key)
            if isinstance(parts, dict):
                result[key] = {
                    name: self.translated(part, depth + 1)
                    for name, part in parts.items()
                    if not self._is_read_only(part)
                }
        _drop_absent(result, schema)
        if isinstance(text := schema.get("pattern"), str) and _is_usable(text):
            result["pattern"] = text
        return _of_old_dialect(result, schema) if self._document.is_old else result

    def _is_read_only(self, schema: JsonValue) -> bool:
        """Return whether only answers have a property."""
        return isinstance(schema, dict) and schema.get("readOnly") is True


def _drop_absent(result: Json, schema: Json) -> None:
    """Require no property that only answers have."""
    required, properties = result.get("required"), schema.get("properties")
    if not isinstance(required, list):
        result.pop("required", None)  # OpenAPI's predecessor had a flag there
        return
    named = properties if isinstance(properties, dict) else {}
    kept, own = [*dict.fromkeys(map(str, required))], result.get("properties")
    still = own if isinstance(own, dict) else {}
    result["required"] = [name for name in kept if name not in named or name in still]


def _is_usable(text: str) -> bool:
    """Return whether a pattern can be checked; others do not count."""
    try:
        schema_pattern(text)
    except ValueError:
        return False
    return True


def _of_old_dialect(result: Json, schema: Json) -> Json:
    """Return a schema of OpenAPI 3.0 with today's words: `nullable`, and bounds that are flags."""
    for flag, bound in _BOUNDS.items():
        if isinstance(result.get(flag), bool):
            is_exclusive = result.pop(flag)
            if is_exclusive and bound in result:
                result[flag] = result.pop(bound)
    if schema.get("nullable") is not True:
        return result
    kind, values = result.get("type"), result.get("enum")
    if isinstance(values, list) and None not in values:
        result["enum"] = [*values, None]
    if isinstance(kind, str):
        return {**result, "type": [kind, "null"]}
    combined = {key: result.pop(key) for key in _LISTS if key in result}
    return {**result, "anyOf": [combined, {"type": "null"}]} if combined else result
