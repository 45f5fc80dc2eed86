"""Forms from schemas become values, or say what is wrong with a field."""

from typing import Any

import pytest
from pydantic import JsonValue
from starlette.datastructures import FormData

from coterie.dsl.values import Json
from coterie.dsl.visible import visible
from coterie.gateway.console.fields.filled_forms import FilledForm, read_form
from coterie.gateway.console.fields.form_fields import FormField, Typed
from coterie.gateway.console.fields.schema_forms import edit_form, start_form, value_form
from coterie.gateway.console.forms.sent_forms import Pick, picks_of
from coterie.gateway.operations.error_reports import Rejection

SCHEMA: Json = {
    "type": "object",
    "required": ["vendor", "amount"],
    "properties": {
        "vendor": {"type": "string", "description": "Who sent it."},
        "amount": {"type": "number", "minimum": 0},
        "count": {"type": "integer", "default": 3},
        "urgent": {"type": "boolean"},
        "kind": {"enum": ["a", 1]},
        "more": {"type": "object"},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "address": {
            "type": "object",
            "required": ["city"],
            "properties": {"city": {"type": "string"}, "a/b": {"type": "string"}},
        },
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["what"],
                "properties": {"what": {"type": "string"}, "price": {"type": "number"}},
            },
        },
    },
}
WHOLE: Json = {"vendor": "x", "amount": 1}


def names_of(fields: tuple[FormField, ...]) -> dict[str, str]:
    return {part.name: part.kind for field in fields for part in field.parts()}


def shown_texts(fields: tuple[FormField, ...]) -> dict[str, str]:
    """What a browser sends back of a form that nobody touched."""
    return {
        part.name: visible(part.value).replace("\n", "\r\n")
        for field in fields
        for part in field.parts()
        if part.kind not in ("group", "list", "fixed")
    }


def started(typed: dict[str, str], **counts: int) -> FilledForm:
    return read_form(start_form(SCHEMA, counts, files=False), Typed(typed, counts))


def problems_of(filled: FilledForm) -> dict[str, str]:
    return {p.name: p.problem for field in filled.fields for p in field.parts() if p.problem}


def test_a_schema_becomes_fields_lists_and_groups() -> None:
    assert names_of(start_form(SCHEMA, {"lines": 1}, files=False)) == {
        "vendor": "text",
        "amount": "number",
        "count": "integer",
        "urgent": "boolean",
        "kind": "choice",
        "more": "json",
        "tags": "lines",
        "sizes": "lines",
        "address": "group",
        "address/city": "text",
        "address/a~1b": "text",
        "lines": "list",
        "lines/0": "group",
        "lines/0/what": "text",
        "lines/0/price": "number",
    }


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ({"count": "2", "urgent": "true", "kind": "1"}, {"count": 2, "urgent": True, "kind": 1}),
        ({"count": " ", "address/city": ""}, {}),
        ({"kind": '"a"', "amount": "1.5"}, {"kind": "a", "amount": 1.5}),
        ({"tags": "red\r\n\r\n 7 "}, {"tags": ["red", "7"]}),
        ({"sizes": "1\n2"}, {"sizes": [1, 2]}),
        ({"address/city": "Rome", "address/a~1b": "x"}, {"address": {"city": "Rome", "a/b": "x"}}),
        ({"vendor": "two\r\nlines"}, {"vendor": "two\nlines"}),
    ],
)
def test_a_form_becomes_a_value_of_the_types_of_its_schema(
    typed: dict[str, str], value: Json
) -> None:
    filled = started({"vendor": "x", "amount": "1", **typed})
    assert problems_of(filled) == {}
    assert filled.value == {**WHOLE, **value}


def test_items_are_added_and_removed() -> None:
    texts = {"vendor": "x", "amount": "1", "lines/0/what": "a", "lines/1/price": "2"}
    typed = Typed(texts, {"lines": 2}, frozenset({"lines/1"}))
    filled = read_form(start_form(SCHEMA, typed.counts, files=False), typed)
    assert problems_of(filled) == {}
    assert filled.value == {**WHOLE, "lines": [{"what": "a"}]}
    assert problems_of(started(texts, lines=2)) == {"lines/1/what": "needs a value"}


@pytest.mark.parametrize(
    ("name", "typed", "problem"),
    [
        ("amount", "much", "is not a number"),
        ("amount", "true", "is not a number"),
        ("amount", "", "needs a value"),
        ("vendor", "", "needs a value"),
        ("amount", "-1", "is -1, not at least 0"),
        ("count", "1.5", "is not a whole number"),
        ("urgent", "1", "is neither true nor false"),
        ("kind", "2", "is not one of the choices"),
        ("more", "{", "is not JSON"),
        ("more", "[" * 100_000, "is not JSON"),
        ("tags", "a\nb\nc", "has 3 entries, not at most 2"),
        ("sizes", "1\nx", "has a line that is not a number"),
        ("address/a~1b", "x", ""),
    ],
)
def test_a_field_says_what_is_wrong_and_keeps_what_was_typed(
    name: str, typed: str, problem: str
) -> None:
    filled = started({"vendor": "x", "amount": "1", name: typed})
    expected = {name: problem} if problem else {"address/city": "needs a value"}
    assert problems_of(filled) == expected
    parts = [part for field in filled.fields for part in field.parts()]
    assert next(part.value for part in parts if part.name == name) == typed


def test_a_team_without_declared_context_takes_one_json_object() -> None:
    fields = start_form({"type": "object"}, {}, files=False)
    assert read_form(fields, Typed({"": '{"a": 1}'})).value == {"a": 1}
    assert read_form(fields, Typed({"": "[1]"})).fields[0].problem == "is not a JSON object"


LOOPED: Json = {"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"x": {"$ref": "#/$defs/t"}}}}}
ODD: list[tuple[Json | None, JsonValue]] = [
    (SCHEMA, {"vendor": "", "amount": 3, "lines": [{"what": "a\r\nb\x1b\u202e"}], "extra": [1]}),
    (
        SCHEMA,
        {"vendor": "x", "amount": 3, "lines": [], "tags": ["", " a"], "address": {"city": ""}},
    ),
    ({"type": "integer"}, 7),
    ({"type": ["string", "null"]}, None),
    ({"anyOf": [{"type": "number"}, {"type": "null"}]}, 2),
    ({"type": "number"}, "of another type"),
    (None, {"a": {"b": [1, 2]}, "c": None, "d": "x", "e": []}),
    (None, "text"),
    (None, None),
    (
        {"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"x": {"$ref": "#/$defs/t"}}}}},
        {"x": {}},
    ),
    (
        {"properties": {"k": {"type": "string"}}, "allOf": [{"properties": {"k": {"const": "v"}}}]},
        {"k": "v"},
    ),
]


@pytest.mark.parametrize(("schema", "value"), ODD)
def test_a_form_that_nobody_touched_keeps_the_value(schema: Json | None, value: Any) -> None:
    fields = edit_form(schema, value, {})
    filled = read_form(fields, Typed(shown_texts(fields)))
    assert problems_of(filled) == {}
    assert filled.value == value


def test_a_value_without_a_schema_is_edited_in_the_form_that_it_has() -> None:
    fields = edit_form(None, {"name": "a", "sum": 2, "ok": True, "tags": ["x"], "none": None}, {})
    kinds = {"name": "text", "sum": "number", "ok": "boolean", "tags": "lines", "none": "json"}
    assert names_of(fields) == kinds


def test_a_fixed_value_cannot_be_typed_over() -> None:
    schema: Json = {"properties": {"k": {"type": "string"}}, "required": ["k"]}
    schema = {**schema, "allOf": [{"properties": {"k": {"const": "v"}}}]}
    filled = read_form(edit_form(schema, {"k": "v"}, {}), Typed({"k": "other"}))
    assert filled.value == {"k": "v"}


def test_a_value_that_need_not_be_given_is_null_when_nothing_is_typed() -> None:
    fields = value_form(SCHEMA, {})
    assert read_form(fields, Typed({})).value is None
    assert read_form(fields, Typed({"vendor": "x", "amount": "2"})).value == {
        "vendor": "x",
        "amount": 2,
    }


def test_a_form_stays_small_whatever_its_schema() -> None:
    deep: Json = {"type": "object", "properties": {f"k{n}": {"$ref": "#"} for n in range(20)}}
    assert len(names_of(start_form(deep, {}, files=False))) < 1_000


def test_a_decision_names_run_request_and_digest_as_they_were_shown() -> None:
    text = '{"run": "r", "request": "a/b#1", "digest": "d"}'
    assert picks_of(FormData({"pick": text})) == [Pick("r", "a/b#1", "d")]
    for wrong in ("", "x", "[]", '{"run": 1}'):
        with pytest.raises(Rejection):
            picks_of(FormData({"pick": wrong}))
    with pytest.raises(Rejection):
        picks_of(FormData())


@pytest.mark.parametrize("schema", [SCHEMA, None, {"type": "object", "properties": {"a": {}}}])
def test_a_mapping_with_too_many_keys_is_one_field(schema: Json | None) -> None:
    numbers: Json = {f"k{number}": number for number in range(500)}
    many: Json = {"vendor": "x", "amount": 1, **numbers}
    nested: Json = {**WHOLE, "more": many, "rest": {**many}}
    for value in (many, nested):
        fields = edit_form(schema, value, {})
        assert len(names_of(fields)) < 20
        assert read_form(fields, Typed(shown_texts(fields))).value == value
    (field,) = start_form(SCHEMA, {}, files=True, given=many)
    assert (field.name, field.kind) == ("", "json")


def test_all_mappings_of_a_form_share_its_number_of_fields() -> None:
    inner: Json = {f"p{part}": 1 for part in range(300)}
    wide: Json = {f"k{number}": {**inner} for number in range(400)}
    assert len(names_of(edit_form(None, wide, {}))) <= 400
