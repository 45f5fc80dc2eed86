"""Forms from JSON Schemas, and back: what a person types becomes a value, or a problem. Pure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from pydantic import JsonValue

from coterie.dsl.strict_json import unsound_part
from coterie.dsl.values import Json

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "json"]
_KINDS: Mapping[str, FieldKind] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}
_MAX_CHOICES = 200


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of a form."""

    name: str
    """The key of the value."""
    kind: FieldKind
    label: str
    description: str
    required: bool
    choices: tuple[str, ...] = ()
    """Of a choice: each as JSON."""
    value: str = ""
    """What the field holds at first, or what the person typed."""
    problem: str = ""

    @property
    def hint(self) -> str:
        """What to type."""
        return {"json": "JSON", "integer": "a whole number", "number": "a number"}.get(
            self.kind, ""
        )


@dataclass(frozen=True, slots=True)
class FilledForm:
    """What a person typed: the value, or the fields with their problems."""

    value: Json
    fields: tuple[FormField, ...]

    @property
    def has_problems(self) -> bool:
        """Whether a field cannot be read."""
        return any(field.problem for field in self.fields)


def form_of(schema: Json) -> tuple[FormField, ...]:
    """Return the fields of an object's schema; without properties, one field for the whole."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return (FormField("", "json", "Context", "A JSON object.", required=False, value="{}"),)
    required = cast("list[JsonValue]", schema.get("required") or [])
    return tuple(
        _field(name, part if isinstance(part, dict) else {}, required=name in required)
        for name, part in properties.items()
    )


def _field(name: str, schema: Json, *, required: bool) -> FormField:
    kind, choices = _kind(schema)
    default = schema.get("default")
    value = ""
    if default is not None:
        value = default if kind == "text" and isinstance(default, str) else _json(default)
    title, description = schema.get("title"), schema.get("description")
    return FormField(
        name,
        kind,
        title if isinstance(title, str) else name,
        description if isinstance(description, str) else "",
        required,
        choices,
        value,
    )


def _kind(schema: Json) -> tuple[FieldKind, tuple[str, ...]]:
    options = schema.get("enum")
    if isinstance(options, list) and 0 < len(options) <= _MAX_CHOICES:
        return "choice", tuple(map(_json, options))
    kind = schema.get("type")
    return (_KINDS.get(kind, "json") if isinstance(kind, str) else "json"), ()


def read_form(fields: tuple[FormField, ...], typed: Mapping[str, str]) -> FilledForm:
    """Return the value of a form.

    Args:
        fields: Of the form.
        typed: `{name of the field: what was typed}`.
    """
    filled = tuple(_fill(field, typed.get(field.name, "")) for field in fields)
    value: Json = {}
    for name, part in _parts(filled):
        if name:
            value[name] = part
        elif isinstance(part, dict):
            value |= part
    return FilledForm(value, filled)


def _fill(field: FormField, typed: str) -> FormField:
    problem = ""
    if typed.strip() == "":
        problem = "needs a value" if field.required and field.kind != "text" else ""
    else:
        problem = _problem(field, typed)
    return FormField(
        field.name,
        field.kind,
        field.label,
        field.description,
        field.required,
        field.choices,
        typed,
        problem,
    )


def _problem(field: FormField, typed: str) -> str:
    if field.kind == "text":
        return ""
    try:
        value = json.loads(typed)
    except (ValueError, RecursionError):
        return f"is not {field.hint or 'one of the choices'}"
    if unsound_part(value) is not None:
        return "holds what JSON does not have"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match field.kind:
        case "integer" if not isinstance(value, int) or isinstance(value, bool):
            return "is not a whole number"
        case "number" if not is_number:
            return "is not a number"
        case "boolean" if not isinstance(value, bool):
            return "is neither true nor false"
        case "choice" if typed not in field.choices:
            return "is not one of the choices"
        case "json" if not field.name and not isinstance(value, dict):
            return "is not a JSON object"
        case _:
            return ""


def _parts(fields: tuple[FormField, ...]) -> Iterator[tuple[str, JsonValue]]:
    for field in fields:
        if field.problem:
            continue
        if field.kind == "text":
            if field.value or field.required:
                yield field.name, field.value
        elif field.value.strip():
            yield field.name, cast("JsonValue", json.loads(field.value))


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)
