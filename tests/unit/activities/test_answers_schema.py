"""Answers against their schema: every error reported shortly, and no power to the schema."""

from typing import Any

import pytest
from pydantic import JsonValue

from coterie.activities.answer_schema import InvalidAnswerSchema, schema_errors, schema_problem
from coterie.activities.answers import AnswerProblem, parse_answer
from coterie.dsl.json_schema.patterns import schema_pattern
from coterie.dsl.values import Json

REVIEW: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "verdict": {"enum": ["yes", "no"]},
        "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
    },
    "required": ["verdict", "findings"],
    "additionalProperties": False,
    "$defs": {
        "finding": {
            "type": "object",
            "properties": {"line": {"type": "integer", "minimum": 1}, "file": {"type": "string"}},
            "required": ["line", "file"],
        }
    },
}


def test_an_answer_that_meets_the_schema_has_no_errors() -> None:
    assert schema_errors({"verdict": "no", "findings": [{"line": 3, "file": "a.py"}]}, REVIEW) == []


def test_all_errors_are_reported_with_their_paths() -> None:
    result = parse_answer('{"verdict": "maybe", "findings": [{"line": 0}], "more": 1}', REVIEW)
    assert result == AnswerProblem(
        "the answer does not match the output schema: "
        "$: Additional properties are not allowed ('more' was unexpected); "
        "$.findings[0]: 'file' is a required property; "
        "$.findings[0].line: 0 is less than the minimum of 1; "
        "$.verdict: 'maybe' is not one of ['yes', 'no']"
    )


def test_ten_errors_are_all_reported() -> None:
    shown = schema_errors([str(n) for n in range(10)], {"items": {"type": "integer"}})
    assert shown == [f"$[{n}]: '{n}' is not of type 'integer'" for n in range(10)]


def test_many_errors_are_reported_in_part() -> None:
    shown = schema_errors([str(n) for n in range(500)], {"items": {"type": "integer"}})
    assert len(shown) == 11
    assert shown[0] == "$[0]: '0' is not of type 'integer'"
    assert shown[-1] == "and others"


def test_a_large_value_is_not_quoted_in_full() -> None:
    (shown,) = schema_errors({"a": "x" * 10_000}, {"type": "array"})
    assert shown == f"$: {{'a': '{'x' * 113} … {'x' * 95}'}} is not of type 'array'"
    (whole,) = schema_errors("x" * 215, {"type": "array"})
    assert whole == f"$: '{'x' * 215}' is not of type 'array'"


def test_answer_error_names_the_nearest_alternative() -> None:
    schema: Json = {
        "anyOf": [
            {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
            {"type": "null"},
        ]
    }
    assert schema_errors({"id": "seven"}, schema) == ["$.id: 'seven' is not of type 'integer'"]


def test_a_schema_of_an_older_draft_is_read_as_the_current_one() -> None:
    schema: Json = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"short": {"type": "string", "maxLength": 3}},
        "allOf": [{"$ref": "#/definitions/short"}],
        "pattern": "^a",
    }
    assert schema_errors("abc", schema) == []
    assert schema_errors("bcd", schema) == ["$: 'bcd' does not match '^a'"]
    assert schema_errors("abcd", schema) == ["$: 'abcd' is too long"]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            {"$ref": "#/definitions/a", "definitions": {"a": {}}, "maxItems": 1},
            "`maxItems` stands beside `$ref`",
        ),
        ({"dependencies": {"a": ["b"]}}, "`dependencies` is not supported; use"),
        ({"contentEncoding": "base64"}, "`contentEncoding` is not checked"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "draft-04/schema#' is not"),
        ({"$schema": "https://example.com/mine"}, "'https://example.com/mine' is not"),
    ],
)
def test_keyword_with_another_meaning_in_its_draft_is_refused(schema: Json, message: str) -> None:
    draft: Json = {"$schema": "http://json-schema.org/draft-07/schema#"}
    with pytest.raises(InvalidAnswerSchema) as raised:
        schema_errors("x", {**draft, **schema})
    assert message in str(raised.value)


def test_a_recursive_schema_is_followed_as_deep_as_the_answer() -> None:
    tree: Json = {"type": "object", "properties": {"below": {"$ref": "#"}}}
    assert schema_errors({"below": {"below": {}}}, tree) == []
    assert schema_errors({"below": {"below": 1}}, tree) == [
        "$.below.below: 1 is not of type 'object'"
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "^(a+)+$"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": "^(a+)+$"},
        {"allOf": [{"$schema": "http://json-schema.org/draft-07/schema", "pattern": "^(a+)+$"}]},
        {"properties": {"x": {}}, "propertyNames": {"pattern": "^(a+)+$"}},
    ],
)
def test_a_pattern_that_backtracks_for_ever_elsewhere_ends_at_once_here(schema: Json) -> None:
    """Exponential matching would run into the suite's timeout."""
    value: JsonValue = "a" * 5000 + "!"
    assert schema_errors({value: 1} if "propertyNames" in schema else value, schema)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "sting"}, r"not a valid JSON Schema, at \$.type: 'sting' is not one of"),
        ({"properties": []}, r"not a valid JSON Schema, at \$.properties"),
        ({"$ref": "http://127.0.0.1:9/internal"}, "refers to 'http://127.0.0.1:9/internal'"),
        ({"$ref": "file:///etc/passwd"}, "refers to 'file:///etc/passwd'"),
        ({"items": {"$dynamicRef": "other.json"}}, "refers to 'other.json'"),
        ({"$ref": "#/properties"}, "refers to '#/properties'"),
        ({"patternProperties": {"(a+)+$": {}}}, "`patternProperties` is not supported"),
        ({"items": {"patternProperties": {}}}, "`patternProperties` is not supported"),
        ({"$defs": {"x": {"pattern": "(?=a)"}}}, r"pattern '\(\?=a\)' is not supported"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_beforehand(schema: Json, message: str) -> None:
    with pytest.raises(InvalidAnswerSchema, match=message):
        schema_errors("x", schema)
    assert schema_problem(schema) is not None


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "#/$defs/none"}, "refers to '#/.defs/none', which it does not define"),
        ({"$ref": "#nowhere"}, "refers to '#nowhere', which it does not define"),
        ({"$ref": "#"}, "refers to itself without end"),
    ],
)
def test_a_schema_that_leads_nowhere_is_found_when_it_is_followed(
    schema: Json, message: str
) -> None:
    with pytest.raises(InvalidAnswerSchema, match=message):
        schema_errors("x", schema)


def test_a_property_may_have_any_name() -> None:
    names = ["pattern", "patternProperties", "$ref", "$schema"]
    schema: Json = {"properties": {name: {"type": "integer"} for name in names}}
    assert schema_problem(schema) is None
    assert len(schema_errors(dict.fromkeys(names, "x"), schema)) == 4


NAMES: list[JsonValue] = [str(number) for number in range(40)]


COSTS: list[tuple[Any, Any, int]] = [
    ({"type": "integer"}, 1, 1),
    ({"type": "integer"}, "x", 2),
    ({"type": "string"}, 2**400, 4),
    ({"type": "string"}, [1] * 59, 4),
    ({"properties": {"0": {}, "1": {}}}, {}, 1),
    ({"properties": {str(name): {} for name in NAMES}}, {}, 3),
    ({"properties": {}}, {str(name): 1 for name in NAMES}, 3),
    ({"required": NAMES}, {str(name): 1 for name in NAMES}, 5),
    ({"items": {"type": "integer"}}, [1] * 40, 43),
    ({"contains": {"type": "integer"}}, [1] * 40, 81),
    ({"contains": {}}, {"a": 1}, 1),
    ({"enum": list(range(20))}, 1, 3),
    ({"const": [1] * 19}, [1] * 19, 3),
    ({"multipleOf": 2}, 4, 1),
    ({"uniqueItems": True}, [1, 2, 3, 4], 3),
    ({"uniqueItems": False}, [1, 2, 3, 4], 1),
    ({"additionalProperties": False}, {}, 1),
    ({"properties": {}}, 1, 1),
]


@pytest.mark.parametrize(("schema", "value", "work"), COSTS)
def test_a_check_costs_a_step_for_each_keyword_and_more_for_large_values(
    schema: Json, value: JsonValue, work: int
) -> None:
    schema_errors(value, schema, work=work)
    with pytest.raises(InvalidAnswerSchema, match="it takes too long to check"):
        schema_errors(value, schema, work=work - 1)


def test_a_pattern_costs_by_the_size_of_its_program_and_of_the_text() -> None:
    size = schema_pattern("^[a-z]{50}").programsize
    schema: Json = {"pattern": "^[a-z]{50}"}
    work = 1 + size * 50 // 1000 + size // 5
    assert schema_errors("a" * 50, schema, work=work) == []
    with pytest.raises(InvalidAnswerSchema, match="it takes too long to check"):
        schema_errors("a" * 50, schema, work=work - 1)
