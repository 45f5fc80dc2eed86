"""Forms from JSON Schemas: text, numbers, choices, lists and groups; JSON where nothing is known.

Pure.
"""

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.values import Json
from coterie.gateway.console.fields.form_fields import (
    Blank,
    FieldKind,
    FormField,
    joined,
    json_text,
)
from coterie.gateway.console.fields.resolved_schemas import Resolved, resolved, shape_of

_KINDS: Mapping[str, FieldKind] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}
_FITTING: Mapping[FieldKind, tuple[type, ...]] = {
    "text": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
}
_RULES = (
    *("type", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems"),
)
"""Keywords that one field checks by itself."""
_MAX_CHOICES = 200
_MAX_DEPTH = 6
_MAX_ITEMS = 50
_MAX_FIELDS = 400
"""Of one form; a mapping whose keys do not fit in it is one JSON field."""


class Given(NamedTuple):
    """What a form starts with: a value that exists, or only a default."""

    value: JsonValue = None
    exists: bool = False

    def at(self, key: str) -> "Given":
        """Return what a key of it has."""
        if isinstance(self.value, dict) and key in self.value:
            return Given(self.value[key], self.exists)
        return Given()


_NOTHING = Given()


def start_form(
    schema: Json, counts: Mapping[str, int], *, files: bool, given: Json | None = None
) -> tuple[FormField, ...]:
    """Return the fields of a new value, with the defaults of its schema.

    Args:
        schema: Of an object.
        counts: Items of the lists in it, as far as a person has added some.
        files: Whether a text file may fill a field.
        given: A value to begin with, beside the defaults.
    """
    properties = _mapping(schema.get("properties"))
    if not properties or len({*properties, *(given or {})}) > _MAX_FIELDS:
        rule: Json = {"type": "object"}
        about = "A JSON object."
        text = json_text(given or {}, indent=2)
        return (FormField("", "json", "Context", about, required=False, value=text, rule=rule),)
    return _Builder(counts, files=files).whole(schema, Given(given))


def edit_form(
    schema: Json | None, value: JsonValue, counts: Mapping[str, int]
) -> tuple[FormField, ...]:
    """Return the fields of a value that exists.

    Args:
        schema: That a changed value must meet; None: it keeps the shape that it has.
        value: As it is.
        counts: Items of the lists in it, as far as a person has added some.
    """
    known = shape_of(value) if schema is None else schema
    return _Builder(counts, files=False).whole(known, Given(value, exists=True))


def value_form(schema: Json, counts: Mapping[str, int]) -> tuple[FormField, ...]:
    """Return the fields of a value that need not be given."""
    return _Builder(counts, files=False).whole(schema, _NOTHING, required=False)


class _Builder:
    """Makes the fields of one form, up to a number of them."""

    def __init__(self, counts: Mapping[str, int], *, files: bool) -> None:
        self._counts = counts
        self._files = files
        self._is_edit = False
        self._left = _MAX_FIELDS

    def whole(self, schema: Json, given: Given, *, required: bool = True) -> tuple[FormField, ...]:
        """Return the fields of a whole value: those of its keys, or one."""
        self._is_edit = given.exists  # a default fills nothing that an existing value lacks
        field = self._field("", "Value", Resolved(schema, schema, False), given, required, 0)
        if field.kind == "group" and required:
            return field.fields
        return (field,)

    def _field(
        self, name: str, label: str, part: Resolved, given: Given, required: bool, depth: int
    ) -> FormField:
        found = resolved(part.schema, part.root)
        schema = found.schema
        if given.value is None and not self._is_edit and "default" in schema:
            given = Given(schema["default"])
        kind = self._kind(found, given, depth)
        title, description = schema.get("title"), schema.get("description")
        return FormField(
            name,
            kind,
            title if isinstance(title, str) else label,
            description if isinstance(description, str) else "",
            required,
            _choices(schema) if kind == "choice" else (),
            _text(kind, schema, given),
            blank=_blank(kind, found, given, required=required),
            fields=self._parts(kind, name, label, found, given, depth),
            takes_file=self._files and kind in ("text", "json", "lines"),
            rule=_rule(kind, found, given),
        )

    def _kind(self, found: Resolved, given: Given, depth: int) -> FieldKind:
        schema, value = found.schema, given.value
        if "const" in schema:
            return "fixed"
        if _choices(schema) and (not given.exists or json_text(value) in _choices(schema)):
            return "choice"
        has_value = value is not None
        match schema.get("type"):
            case str() as word if word in _KINDS:
                kind = _KINDS[word]
                return kind if not has_value or _fits(kind, value) else "json"
            case "array":
                return self._kind_of_list(found, given, depth)
            case "object":
                is_mapping = isinstance(value, dict)
                count = len(_mapping(schema.get("properties")).keys() | _mapping(value).keys())
                is_open = depth < _MAX_DEPTH and 0 < count <= self._left
                return "group" if is_open and (is_mapping or not has_value) else "json"
            case None if isinstance(schema.get("properties"), dict):
                return self._kind(
                    Resolved({**schema, "type": "object"}, found.root, found.is_nullable),
                    given,
                    depth,
                )
            case None if given.exists and isinstance(value, str):
                return "text"
            case _:
                return "json"

    def _kind_of_list(self, found: Resolved, given: Given, depth: int) -> FieldKind:
        items = resolved(found.schema.get("items"), found.root)
        value = [] if given.value is None else given.value
        if not isinstance(value, list) or "prefixItems" in found.schema or items.is_nullable:
            return "json"
        word = items.schema.get("type")
        kind = _KINDS.get(word) if isinstance(word, str) else None
        if kind is not None and "enum" not in items.schema and "const" not in items.schema:
            return "lines" if all(_is_line(kind, item) for item in value) else "json"
        is_small = len(value) <= _MAX_ITEMS and depth < _MAX_DEPTH - 1 and self._left > 0
        has_keys = bool(items.schema.get("properties"))
        mappings = all(isinstance(item, dict) for item in value)
        return "list" if is_small and has_keys and mappings else "json"

    def _parts(
        self, kind: FieldKind, name: str, label: str, found: Resolved, given: Given, depth: int
    ) -> tuple[FormField, ...]:
        schema, value = found.schema, given.value
        if kind == "group":
            properties = schema.get("properties")
            declared = properties if isinstance(properties, dict) else {}
            required = schema.get("required")
            needed = required if isinstance(required, list) else []
            others = (
                [key for key in value if key not in declared] if isinstance(value, dict) else []
            )
            parts = {**declared, **dict.fromkeys(others, _others(schema))}
            self._left -= len(parts)
            return tuple(
                self._field(
                    joined(name, key),
                    key,
                    Resolved(_mapping(part), found.root, False),
                    given.at(key),
                    key in needed,
                    depth + 1,
                )
                for key, part in parts.items()
            )
        if kind != "list":
            return ()
        items = value if isinstance(value, list) else []
        count = min(self._counts.get(name, len(items)), _MAX_ITEMS)
        self._left -= count
        item = Resolved(_mapping(schema.get("items")), found.root, False)
        return tuple(
            self._field(
                joined(name, str(number)),
                f"{label} {number + 1}",
                item,
                Given(items[number], given.exists) if number < len(items) else _NOTHING,
                True,
                depth + 1,
            )
            for number in range(count)
        )


def _others(schema: Json) -> Json:
    """Return the schema of keys that it does not name."""
    return _mapping(schema.get("additionalProperties"))


def _mapping(schema: JsonValue) -> Json:
    return schema if isinstance(schema, dict) else {}


def _choices(schema: Json) -> tuple[str, ...]:
    options = schema.get("enum")
    if isinstance(options, list) and 0 < len(options) <= _MAX_CHOICES:
        return tuple(map(json_text, options))
    return ()


def _fits(kind: FieldKind, value: JsonValue) -> bool:
    is_boolean = isinstance(value, bool)
    return isinstance(value, _FITTING[kind]) and is_boolean == (kind == "boolean")


def _is_line(kind: FieldKind, item: JsonValue) -> bool:
    """Return whether an item of a list is one line of a field, and comes back as it is."""
    if not _fits(kind, item):
        return False
    return not isinstance(item, str) or (item == item.strip() != "" and len(item.splitlines()) == 1)


def _text(kind: FieldKind, schema: Json, given: Given) -> str:
    value = given.value
    match kind:
        case "fixed":
            return json_text(schema["const"])
        case "group" | "list":
            return ""
        case "lines":
            items = value if isinstance(value, list) else []
            return "\n".join(item if isinstance(item, str) else json_text(item) for item in items)
        case "text":
            return value if isinstance(value, str) else ""
        case "json":
            has_value = given.exists or value is not None
            return json_text(value, indent=2) if has_value else ""
        case _:
            return json_text(value) if value is not None else ""


def _blank(kind: FieldKind, found: Resolved, given: Given, *, required: bool) -> Blank:
    if found.is_nullable and (given.exists or required):
        return "null"
    if given.exists and kind in ("text", "lines", "list", "group"):
        return "empty"
    if kind == "lines":
        return "empty" if required else "absent"
    return "missing" if required and kind not in ("list", "group") else "absent"


def _rule(kind: FieldKind, found: Resolved, given: Given) -> Json:
    schema = found.schema
    if kind == "json" and schema.get("type") == "object" and not found.is_nullable:
        return {"type": "object"} if isinstance(given.value, dict | None) else {}
    if kind in ("group", "list", "fixed", "json"):
        return {}
    rule: Json = {word: schema[word] for word in _RULES if word in schema}
    items = schema.get("items")
    if kind == "lines" and isinstance(items, dict):
        inner = {word: items[word] for word in _RULES if word in items}
        rule["items"] = inner if "$ref" not in items else {}
    return rule
