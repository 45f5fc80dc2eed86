"""Forms from schemas become values, or say what is wrong with a field."""

import pytest
from starlette.datastructures import FormData

from coterie.dsl.values import Json
from coterie.gateway.console.fields.schema_forms import form_of, read_form
from coterie.gateway.console.forms.form_posts import Pick, picks_of
from coterie.gateway.operations.error_reports import Rejection

SCHEMA: Json = {
    "type": "object",
    "required": ["vendor", "amount"],
    "properties": {
        "vendor": {"type": "string", "description": "Who sent it."},
        "amount": {"type": "number"},
        "count": {"type": "integer", "default": 3},
        "urgent": {"type": "boolean"},
        "kind": {"enum": ["a", 1]},
        "more": {"type": "object"},
    },
}


def test_a_form_becomes_a_value_of_the_types_of_its_schema() -> None:
    fields = form_of(SCHEMA)
    assert [field.kind for field in fields] == [
        "text",
        "number",
        "integer",
        "boolean",
        "choice",
        "json",
    ]
    assert [field.name for field in fields if field.required] == ["vendor", "amount"]
    typed = {"vendor": "7", "amount": "1.5", "count": "2", "urgent": "true", "kind": "1"}
    filled = read_form(fields, typed)
    assert not filled.has_problems
    assert filled.value == {"vendor": "7", "amount": 1.5, "count": 2, "urgent": True, "kind": 1}


def test_an_empty_field_is_left_out_so_that_its_default_counts() -> None:
    filled = read_form(form_of(SCHEMA), {"vendor": "x", "amount": "1", "count": " "})
    assert filled.value == {"vendor": "x", "amount": 1}


@pytest.mark.parametrize(
    ("name", "typed", "problem"),
    [
        ("amount", "much", "is not a number"),
        ("amount", "true", "is not a number"),
        ("amount", "", "needs a value"),
        ("count", "1.5", "is not a whole number"),
        ("urgent", "1", "is neither true nor false"),
        ("kind", "2", "is not one of the choices"),
        ("more", "{", "is not JSON"),
        ("more", "[" * 100_000, "is not JSON"),
    ],
)
def test_a_field_says_what_is_wrong_and_keeps_what_was_typed(
    name: str, typed: str, problem: str
) -> None:
    filled = read_form(form_of(SCHEMA), {"vendor": "x", "amount": "1", name: typed})
    assert {f.name: f.problem for f in filled.fields if f.problem} == {name: problem}
    assert next(field.value for field in filled.fields if field.name == name) == typed


def test_a_team_without_declared_context_takes_one_json_object() -> None:
    fields = form_of({"type": "object"})
    assert read_form(fields, {"": '{"a": 1}'}).value == {"a": 1}
    assert read_form(fields, {"": "[1]"}).fields[0].problem == "is not a JSON object"


def test_a_decision_names_run_request_and_digest_as_they_were_shown() -> None:
    text = '{"run": "r", "request": "a/b#1", "digest": "d"}'
    assert picks_of(FormData({"pick": text})) == [Pick("r", "a/b#1", "d")]
    for wrong in ("", "x", "[]", '{"run": 1}'):
        with pytest.raises(Rejection):
            picks_of(FormData({"pick": wrong}))
    with pytest.raises(Rejection):
        picks_of(FormData())
