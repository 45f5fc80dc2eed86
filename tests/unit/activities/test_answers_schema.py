"""Answers against their schema: every error reported shortly, and no power to the schema."""

import pytest
from pydantic import JsonValue

from coterie.activities.answers import AnswerProblem, parse_answer
from coterie.dsl.json_schema.schema_checker import UnusableSchema, answer_mismatches
from coterie.dsl.json_schema.schema_problems import schema_problem
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
    assert (
        answer_mismatches({"verdict": "no", "findings": [{"line": 3, "file": "a.py"}]}, REVIEW)
        == []
    )


def test_all_errors_are_reported_with_their_paths() -> None:
    result = parse_answer('{"verdict": "maybe", "findings": [{"line": 0}], "more": 1}', REVIEW)
    assert result == AnswerProblem(
        "the answer does not match the output schema: "
        '$.verdict is "maybe", not one of "yes", "no"; '
        "$.findings[0].line is 0, not at least 1; $.findings[0] lacks the key 'file'; "
        "$ has the key 'more'; allowed: findings, verdict"
    )


def test_ten_errors_are_all_reported() -> None:
    shown = answer_mismatches([str(n) for n in range(10)], {"items": {"type": "integer"}})
    assert shown == [f"$[{n}] is a text, not a whole number" for n in range(10)]


def test_of_many_errors_the_first_ten_are_reported() -> None:
    assert (
        len(answer_mismatches([str(n) for n in range(500)], {"items": {"type": "integer"}})) == 10
    )


def test_answer_error_names_the_nearest_alternative() -> None:
    schema: Json = {
        "anyOf": [
            {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
            {"type": "null"},
        ]
    }
    assert answer_mismatches({"id": "seven"}, schema) == ["$.id is a text, not a whole number"]
    other: Json = {"anyOf": [{"type": "null"}, {"type": "object", "required": ["a", "b"]}]}
    assert answer_mismatches({}, other) == ["$ lacks the key 'a'", "$ lacks the key 'b'"]


def test_a_schema_of_an_older_draft_is_read_as_the_current_one() -> None:
    schema: Json = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"short": {"type": "string", "maxLength": 3}},
        "allOf": [{"$ref": "#/definitions/short"}],
        "pattern": "^a",
    }
    assert answer_mismatches("abc", schema) == []
    assert answer_mismatches("bcd", schema) == ["$ is \"bcd\", which does not match '^a'"]
    assert answer_mismatches("abcd", schema) == ["$ has 4 characters, not at most 3"]


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
    with pytest.raises(UnusableSchema) as raised:
        answer_mismatches("x", {**draft, **schema})
    assert message in str(raised.value)


def test_a_recursive_schema_is_followed_as_deep_as_the_answer() -> None:
    tree: Json = {"type": "object", "properties": {"below": {"$ref": "#"}}}
    assert answer_mismatches({"below": {"below": {}}}, tree) == []
    assert answer_mismatches({"below": {"below": 1}}, tree) == [
        "$.below.below is a number, not a mapping"
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
    assert answer_mismatches({value: 1} if "propertyNames" in schema else value, schema)


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
    with pytest.raises(UnusableSchema, match=message):
        answer_mismatches("x", schema)
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
    with pytest.raises(UnusableSchema, match=message):
        answer_mismatches("x", schema)


def test_a_property_may_have_any_name() -> None:
    names = ["pattern", "patternProperties", "$ref", "$schema"]
    schema: Json = {"properties": {name: {"type": "integer"} for name in names}}
    assert schema_problem(schema) is None
    assert len(answer_mismatches(dict.fromkeys(names, "x"), schema)) == 4
