"""The schema of a tool's arguments as every vendor takes it, and the way back for a call. Pure.

Vendors refuse a request for one tool whose schema has a form that they do not know. Such forms are
rewritten for the model; a call is checked against the schema that its tool really has, with the
names that this schema has.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.json_schema.references import is_own, target_of
from coterie.dsl.model.vendors.vendor_rules import ToolSchemaRule
from coterie.dsl.values import Json

_PROPERTY_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_MAX_NAME = 56
_MAX_WORDS = 2_000
"""Characters of the forms at the root that stay readable in words."""
_MAX_DEPTH = 30
_ONE_OF_FORMS = ("anyOf", "oneOf")
_FORMS = (*_ONE_OF_FORMS, "allOf")
_AT_ROOT = (*_FORMS, "not", "if", "then", "else", "enum", "const", "$ref")
"""Keywords that no root may have."""
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_DATA = ("default", "const", "enum", "examples", "required")


class OfferedSchema(NamedTuple):
    """What a model sees of a schema, and why that is not the schema itself."""

    schema: Json
    rules: tuple[ToolSchemaRule, ...] = ()
    """What was rewritten; empty if the schema is offered as it is."""


def offered_schema(schema: Json) -> OfferedSchema:
    """Return the schema as every vendor takes it."""
    writer = _Rewriter()
    return OfferedSchema(writer.root(schema), tuple(writer.broken))


def own_arguments(schema: Json, given: Json) -> Json:
    """Return the arguments of a call under the names that the tool's own schema has.

    Args:
        schema: The tool's own schema, before it was rewritten.
        given: What the model wrote.
    """
    value = _own_value(schema, given, schema, 0)
    return value if isinstance(value, dict) else given


def _own_value(schema: JsonValue, value: JsonValue, root: Json, depth: int) -> JsonValue:
    if depth > _MAX_DEPTH:
        return value
    forms = _forms_of(schema, root)
    if isinstance(value, list):
        return [
            _own_value(_item_schema(forms, at), item, root, depth + 1)
            for at, item in enumerate(value)
        ]
    if not isinstance(value, dict) or not forms:
        return value
    own: Json = {}
    for key, item in value.items():
        name, below = _own_property(forms, key)
        own[name if name not in value or name == key else key] = _own_value(
            below, item, root, depth + 1
        )
    return own


def _own_property(forms: list[Json], offered: str) -> tuple[str, JsonValue]:
    """Return the name and the schema of a property, by the name that the model saw."""
    for form in forms:
        properties = form.get("properties")
        if isinstance(properties, dict):
            for name, alias in offered_names(properties).items():
                if alias == offered:
                    return name, properties[name]
    below = next(
        (form["additionalProperties"] for form in forms if "additionalProperties" in form), None
    )
    return offered, below


def _item_schema(forms: list[Json], at: int) -> JsonValue:
    for form in forms:
        for key in ("prefixItems", "items"):
            items = form.get(key)
            if isinstance(items, list) and at < len(items):
                return items[at]
            if isinstance(items, dict):
                return items
    return None


def _forms_of(schema: JsonValue, root: Json, words: Sequence[str] = _FORMS) -> list[Json]:
    """Return a schema, and those that it refers to or joins by these words, each once."""
    forms: dict[int, Json] = {}
    ahead: list[JsonValue] = [schema]
    while ahead:
        node = ahead.pop(0)
        if not isinstance(node, dict) or id(node) in forms:
            continue
        forms[id(node)] = node
        reference = node.get("$ref")
        if isinstance(reference, str) and is_own(reference):
            ahead.append(target_of(root, reference, {}))
        ahead += [form for word in words for form in _list(node.get(word))]
    return list(forms.values())


def offered_names(properties: Mapping[str, object]) -> dict[str, str]:
    """Return `{property: the name that models see}`; a name that every vendor takes stays."""
    fine = {name for name in properties if _PROPERTY_NAME.fullmatch(name)}
    names: dict[str, str] = {}
    for name in properties:
        if name in fine:
            names[name] = name
            continue
        base = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_")[:_MAX_NAME] or "argument"
        alias, number = base, 2
        while alias in fine:
            alias, number = f"{base}_{number}", number + 1
        fine.add(alias)
        names[name] = alias
    return names


class _Rewriter:
    """Rewrites one schema, and keeps which rules it broke."""

    def __init__(self) -> None:
        self.broken: dict[ToolSchemaRule, None] = {}

    def root(self, schema: Json) -> Json:
        """Return a whole schema, an object without forms beside each other."""
        if any(word in schema for word in _AT_ROOT):
            self.broken["forms_at_root"] = None
            schema = _join_forms(schema)
        result = self._schema(schema)
        return {**result, "type": "object", "properties": result.get("properties", {})}

    def _schema(self, schema: Json) -> Json:
        reference = schema.get("$ref")
        if isinstance(reference, str) and not reference.startswith("#"):
            self.broken["reference_outside"] = None
            schema = {key: part for key, part in schema.items() if key != "$ref"}
        result: Json = {}
        for key, below in schema.items():
            if key in _DATA:
                result[key] = below
            elif key in _MAPS and isinstance(below, dict):
                result[key] = {name: self._below(part) for name, part in below.items()}
            elif isinstance(below, dict):
                result[key] = self._schema(below)
            elif key in (*_FORMS, "prefixItems") and isinstance(below, list):
                result[key] = [self._below(part) for part in below]
            else:
                result[key] = below
        self._array(result)
        self._object(result)
        return result

    def _below(self, schema: JsonValue) -> JsonValue:
        if isinstance(schema, dict):
            return self._schema(schema)
        self.broken["boolean_schema"] = None
        return {}

    def _array(self, schema: Json) -> None:
        items = schema.get("items")
        if isinstance(items, list):
            self.broken["items_of_tuple"] = None
            schema["items"] = {"anyOf": [self._below(item) for item in items]} if items else {}
        elif isinstance(items, bool):
            self.broken["boolean_schema"] = None
            schema["items"] = {}
        elif items is None and "array" in _types(schema):
            self.broken["array_without_items"] = None
            schema["items"] = {}

    def _object(self, schema: Json) -> None:
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return
        names = offered_names(properties)
        required = [key for key in _list(schema.get("required")) if isinstance(key, str)]
        if any(name != alias for name, alias in names.items()):
            self.broken["property_name"] = None
            schema["properties"] = {
                alias: _with_own_name(properties[name], name, alias)
                for name, alias in names.items()
            }
            schema["required"] = [names.get(key, key) for key in required]
        missing = [key for key in required if key not in properties]
        if missing:
            self.broken["required_unknown"] = None
            schema["required"] = [names[key] for key in required if key in properties]
        if schema.get("required") == []:
            del schema["required"]


def _with_own_name(schema: JsonValue, name: str, alias: str) -> JsonValue:
    """Say the own name of a property that has another one for the model."""
    if name == alias or not isinstance(schema, dict):
        return schema
    description = schema.get("description")
    note = f"The tool calls it {name!r}."
    return {
        **schema,
        "description": f"{description} {note}" if isinstance(description, str) else note,
    }


def _join_forms(schema: Json) -> Json:
    """Return one object with the properties of all forms at the root; the forms stay in words."""
    properties: Json = {}
    for form in _forms_of(schema, schema):
        own = form.get("properties")
        for name, subschema in own.items() if isinstance(own, dict) else ():
            properties[name] = (
                subschema if name not in properties else _either(properties[name], subschema)
            )
    rest = {
        key: value
        for key, value in schema.items()
        if key not in (*_AT_ROOT, "additionalProperties")
    }
    result: Json = {**rest, "properties": properties}
    needed = [
        key for form in _forms_of(schema, schema, ["allOf"]) for key in _list(form.get("required"))
    ]
    required: list[JsonValue] = list(dict.fromkeys(key for key in needed if isinstance(key, str)))
    if required:
        result["required"] = required
    words = json.dumps({key: schema[key] for key in _AT_ROOT if key in schema}, ensure_ascii=False)
    if len(words) <= _MAX_WORDS:
        description = schema.get("description")
        note = f"The arguments must also match the JSON Schema {words}"
        result["description"] = f"{description} {note}" if isinstance(description, str) else note
    return result


def _either(first: JsonValue, second: JsonValue) -> JsonValue:
    """Return a schema that takes what one of two takes."""
    if first == second:
        return first
    alternatives = (
        first.get("anyOf") if isinstance(first, dict) and first.keys() == {"anyOf"} else None
    )
    forms = _list(alternatives) or [first]
    return first if second in forms else {"anyOf": [*forms, second]}


def _types(schema: Json) -> tuple[JsonValue, ...]:
    kind = schema.get("type")
    return tuple(kind) if isinstance(kind, list) else (kind,)


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
