"""JSON Schemas as the APIs take them: narrowed without harm, or honestly given up."""

import copy
import json

import jsonschema
import pytest

from coterie.activities.providers.translation.output_schemas import (
    in_words,
    requires_every_key,
    strict_schema,
)
from coterie.dsl.values import Json

PLAN: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Plan",
    "type": "object",
    "properties": {
        "steps": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Step"}},
        "note": {"type": ["string", "null"], "description": "For people.", "maxLength": 80},
        "risk": {"enum": ["low", "high"]},
        "size": {"oneOf": [{"type": "integer", "minimum": 0}, {"const": "unknown"}]},
    },
    "required": ["steps"],
    "$defs": {
        "Step": {
            "type": "object",
            "properties": {"file": {"type": "string", "pattern": "^src/"}},
            "required": ["file"],
        }
    },
}


def test_objects_are_closed_and_bounds_become_words() -> None:
    before = copy.deepcopy(PLAN)
    assert strict_schema(PLAN) == {
        "title": "Plan",
        "type": "object",
        "properties": {
            "steps": {
                "type": "array",
                "items": {"$ref": "#/$defs/Step"},
                "description": '{"minItems": 1}',
            },
            "note": {"type": ["string", "null"], "description": 'For people. {"maxLength": 80}'},
            "risk": {"enum": ["low", "high"]},
            "size": {
                "anyOf": [
                    {"type": "integer", "description": '{"minimum": 0}'},
                    {"const": "unknown"},
                ]
            },
        },
        "required": ["steps"],
        "additionalProperties": False,
        "$defs": {
            "Step": {
                "type": "object",
                "properties": {"file": {"type": "string", "description": '{"pattern": "^src/"}'}},
                "required": ["file"],
                "additionalProperties": False,
            }
        },
    }
    assert before == PLAN, "the caller's schema stays as it is"


def test_narrowed_schema_accepts_only_what_the_whole_one_accepts() -> None:
    narrowed = strict_schema(PLAN)
    assert narrowed is not None
    answer = {"steps": [{"file": "src/a.py"}], "note": None, "risk": "low", "size": 3}
    for schema in (narrowed, PLAN):
        jsonschema.validate(answer, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**answer, "extra": 1}, narrowed)


def test_old_definitions_are_moved_to_where_the_apis_look() -> None:
    schema: Json = {"$ref": "#/definitions/A", "definitions": {"A": {"type": "string"}}}
    assert strict_schema(schema) == {"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {}, "patternProperties": {"^x": {"type": "string"}}},
        {"type": "object", "properties": {"any": True}},
        {"type": ["object", "null"]},
        {"type": "array"},
        {"type": "array", "items": {}},
        {"allOf": [{"type": "string"}]},
        {"enum": [{"a": 1}]},
        {"const": [1]},
        {"$ref": "https://elsewhere/schema"},
        {"$ref": "#/$defs/Missing"},
        {"$ref": "#/properties/a", "properties": {"a": {"type": "string"}}},
        {
            "$ref": "#/$defs/Tree",
            "$defs": {"Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
        },
    ],
)
def test_a_schema_beyond_the_subset_is_given_up(schema: Json) -> None:
    assert strict_schema(schema) is None


def test_definitions_that_refer_to_each_other_again_and_again_stay_small() -> None:
    definitions: Json = {"D40": {"type": "null"}}
    for number in range(40):
        following: Json = {"$ref": f"#/$defs/D{number + 1}"}
        definitions[f"D{number}"] = {"anyOf": [following, following]}
    schema: Json = {"$ref": "#/$defs/D0", "$defs": definitions}
    assert len(json.dumps(strict_schema(schema))) < 10_000


@pytest.mark.parametrize(
    ("schema", "every"),
    [
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}, True),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": []}, False),
        ({"type": ["object", "null"], "properties": {"a": {"type": "null"}}}, False),
        ({"anyOf": [{"type": "object", "properties": {"a": {"type": "null"}}}]}, False),
        ({"type": "string"}, True),
        (PLAN, False),
    ],
)
def test_schema_reports_whether_every_key_is_required(schema: Json, *, every: bool) -> None:
    assert requires_every_key(schema) is every


def test_a_schema_in_words_is_the_whole_schema() -> None:
    assert in_words(PLAN).endswith(json.dumps(PLAN))
