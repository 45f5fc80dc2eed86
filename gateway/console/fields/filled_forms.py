"""What a person typed into a form becomes a value, or problems beside its fields. Pure."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from pydantic import JsonValue

from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.strict_json import unsound_part
from coterie.dsl.values import Json
from coterie.dsl.visible import visible
from coterie.gateway.console.fields.form_fields import FormField, Typed

_WHERE = "it"
_UNREADABLE = {"lines": "has a line that is not a number", "boolean": "is neither true nor false"}


@dataclass(frozen=True, slots=True)
class FilledForm:
    """What a person typed: the value, or the fields with their problems."""

    value: JsonValue
    fields: tuple[FormField, ...]

    @property
    def has_problems(self) -> bool:
        """Whether a field cannot be read."""
        return any(part.problem for field in self.fields for part in field.parts())

    @property
    def mapping(self) -> Json:
        """The value of a form that makes a mapping."""
        return self.value if isinstance(self.value, dict) else {}


def with_added_item(fields: Sequence[FormField], name: str) -> tuple[FormField, ...]:
    """Return the fields of a form to which a person has just added an item; nobody judges it yet.

    Args:
        fields: Of the form.
        name: Of the list, whose last item is new.
    """
    quiet = tuple(map(_without_problems, fields))
    parts = [part for field in quiet for part in field.parts()]
    grown = next((part for part in parts if part.name == name and part.fields), None)
    inputs = () if grown is None else tuple(_inputs((grown.fields[-1],)))
    return _focus(quiet, inputs[0].name if inputs else "")


def with_focus(fields: Sequence[FormField]) -> tuple[FormField, ...]:
    """Return fields of which the page begins at the first that has a problem."""
    wrong = next((field.name for field in _inputs(fields) if field.problem), "")
    return _focus(fields, wrong)


def _inputs(fields: Sequence[FormField]) -> Iterator[FormField]:
    """Yield the fields that a person types into."""
    for field in fields:
        for part in field.parts():
            if part.kind not in ("group", "list", "fixed"):
                yield part


def _focus(fields: Sequence[FormField], name: str) -> tuple[FormField, ...]:
    return tuple(
        replace(
            field,
            is_focused=bool(name) and field.name == name and not field.fields,
            fields=_focus(field.fields, name),
        )
        for field in fields
    )


class _Read(NamedTuple):
    """The value of a field, if it has one."""

    value: JsonValue = None
    exists: bool = True


_NONE = _Read(exists=False)


def read_form(fields: tuple[FormField, ...], typed: Typed) -> FilledForm:
    """Return the value of a form, and its fields as they were typed."""
    filled = tuple(_fill(field, typed) for field in fields)
    if len(filled) == 1 and not filled[0].name:
        read = _value(filled[0])
        return FilledForm(read.value if read.exists else None, filled)
    return FilledForm(_mapping_of(filled), filled)


def _fill(field: FormField, typed: Typed) -> FormField:
    if field.kind in ("group", "list"):
        return _fill_group(field, typed)
    if field.kind == "fixed":
        return field
    text = typed.texts.get(field.name, "").replace("\r\n", "\n")
    if _lines(text) == _lines(visible(field.value)):
        text = field.value  # as it was, with what a page makes visible, or a browser changes
    return replace(field, value=text, problem=_problem(field, text))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _fill_group(field: FormField, typed: Typed) -> FormField:
    dropped = field.name in typed.dropped
    parts = tuple(_fill(part, typed) for part in field.fields)
    filled = replace(field, fields=parts, is_dropped=dropped)
    return _without_problems(filled) if dropped or _is_left_out(filled) else filled


def _is_left_out(field: FormField) -> bool:
    """Return whether nobody gave anything in a group that need not be there."""
    may_lack = field.kind == "group" and not field.required and field.blank != "empty"
    return may_lack and not any(map(_holds, field.fields))


def _without_problems(field: FormField) -> FormField:
    return replace(field, problem="", fields=tuple(map(_without_problems, field.fields)))


def _holds(field: FormField) -> bool:
    """Return whether a person gave something in a field."""
    if field.kind == "fixed":
        return False
    if field.kind in ("group", "list"):
        return field.blank == "empty" or any(map(_holds, field.fields))
    return field.value.strip() != "" or _stands(field)


def _problem(field: FormField, text: str) -> str:
    if text.strip() == "" and not (field.kind == "text" and text):
        return "needs a value" if field.blank == "missing" else ""
    try:
        value = _parse(field, text)
    except (ValueError, RecursionError):
        return _UNREADABLE.get(field.kind, f"is not {field.hint or 'one of the choices'}")
    if unsound_part(value) is not None:
        return "holds what JSON does not have"
    return _kind_problem(field, value, text) or _rule_problem(field, value)


def _kind_problem(field: FormField, value: JsonValue, text: str) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match field.kind:
        case "integer" if not isinstance(value, int) or isinstance(value, bool):
            return "is not a whole number"
        case "number" if not is_number:
            return "is not a number"
        case "boolean" if not isinstance(value, bool):
            return "is neither true nor false"
        case "choice" if text not in field.choices:
            return "is not one of the choices"
        case "json" if field.rule.get("type") == "object" and not isinstance(value, dict):
            return "is not a JSON object"
        case _:
            return ""


def _rule_problem(field: FormField, value: JsonValue) -> str:
    if not field.rule:
        return ""
    try:
        problems = mismatches(value, field.rule, _WHERE)
    except UnusableSchema:
        return ""  # the whole form is checked where its value goes
    return "; ".join(problem.removeprefix(f"{_WHERE} ") for problem in problems)


def _parse(field: FormField, text: str) -> JsonValue:
    """Return the value of a text.

    Raises:
        ValueError: It is none.
        RecursionError: It is nested too deeply.
    """
    match field.kind:
        case "text":
            return text
        case "lines":
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            items = field.rule.get("items")
            word = items.get("type") if isinstance(items, dict) else None
            return [*lines] if word == "string" else [_json(line) for line in lines]
        case "choice" if text in field.choices:
            return _json(text)
        case _:
            return _json(text)


def _json(text: str) -> JsonValue:
    return cast("JsonValue", json.loads(text))


def _value(field: FormField) -> _Read:
    match field.kind:
        case _ if field.problem or field.is_dropped:
            return _NONE
        case "fixed":
            return _Read(_json(field.value))
        case "list":
            reads = [_value(part) for part in field.fields]
            items = [read.value for read in reads if read.exists]
            return _Read(items) if reads or field.required or field.blank == "empty" else _NONE
        case "group":
            return _NONE if _is_left_out(field) else _Read(_mapping_of(field.fields))
        case "text" if field.value:
            return _Read(field.value)
        case _ if field.value.strip():
            return _Read(_parse(field, field.value))
        case "lines" if field.blank == "empty":
            return _Read([])
        case _ if _stands(field):
            return _Read("" if field.blank == "empty" else None)
        case _:
            return _NONE


def _stands(field: FormField) -> bool:
    """Return whether an empty field is a value."""
    return field.blank in ("empty", "null")


def _mapping_of(fields: Sequence[FormField]) -> Json:
    return dict(_pairs(fields))


def _pairs(fields: Sequence[FormField]) -> Iterator[tuple[str, JsonValue]]:
    for field in fields:
        read = _value(field)
        if read.exists:
            yield field.key, read.value
