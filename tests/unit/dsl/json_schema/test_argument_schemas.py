"""A call's arguments are one object: what its caller may give, and nothing else."""

import pytest
from pydantic import JsonValue

from coterie.dsl.json_schema.argument_schemas import (
    arguments_schema,
    declared_arguments,
    schema_of_properties,
)
from coterie.dsl.json_values import is_whole_schema
from coterie.dsl.values import Json

TEXT: Json = {"type": "string"}


def taking(*names: str) -> Json:
    return {"type": "object", "properties": dict.fromkeys(names, TEXT)}


def test_a_fixed_property_is_neither_offered_nor_required() -> None:
    schema: Json = {
        "properties": {"a": TEXT, "b": TEXT, "c": TEXT},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert arguments_schema(schema) == {"type": "object", **schema}
    assert arguments_schema(schema, {"a"}) == {
        "type": "object",
        "properties": {"b": TEXT, "c": TEXT},
        "required": ["b"],
        "additionalProperties": False,
    }
    assert arguments_schema(schema, ("a", "b")) == {
        "type": "object",
        "properties": {"c": TEXT},
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"type": "object"}, taking()),
        ({"type": "object", "properties": "?", "required": "?"}, taking()),
        ({"anyOf": [{"type": "null"}, taking("a"), taking("b")]}, taking("a")),
        ({"oneOf": [{"type": "array"}, {"oneOf": [taking("a")]}]}, taking("a")),
        ({"anyOf": [TEXT], "oneOf": [taking("a")]}, taking("a")),
        ({"anyOf": "?", "oneOf": [True, taking("a")]}, taking("a")),
        ({"$ref": "#/$defs/A", "$defs": {"A": taking("a")}, "properties": {}}, taking("a")),
        ({"type": "string"}, None),
        ({"anyOf": [TEXT, False]}, None),
        ({"$ref": "#/$defs/B"}, None),
        ({"$ref": "#"}, None),
    ],
)
def test_the_first_form_that_is_an_object_is_taken(schema: Json, found: Json | None) -> None:
    assert arguments_schema(schema) == found


@pytest.mark.parametrize("word", ["anyOf", "$ref"])
def test_forms_are_searched_ten_levels_deep(word: str) -> None:
    def nested(levels: int) -> Json:
        if word == "anyOf":
            return taking("a") if not levels else {"anyOf": [nested(levels - 1)]}
        names: dict[str, JsonValue] = {
            str(n): {"$ref": f"#/$defs/{n - 1}"} for n in range(1, levels)
        }
        return {"$ref": f"#/$defs/{levels - 1}", "$defs": {"0": taking("a"), **names}}

    assert arguments_schema(nested(10)) == taking("a")
    assert arguments_schema(nested(11)) is None


def test_titles_aliases_and_empty_defaults_are_left_out_but_no_names_and_no_data() -> None:
    data: Json = {"title": "kept", "default": None}
    schema: Json = {
        "title": "T",
        "x-also": ["t"],
        "default": None,
        "examples": [data],
        "properties": {
            "title": {"title": "Title", "default": 0, "const": data},
            "x-also": {"x-also": ["y"], "enum": [data, 1], "anyOf": [{"title": "x"}, TEXT]},
            "default": {"default": data},
        },
        "patternProperties": {"default": {"title": "x"}},
        "dependentSchemas": {"title": {"default": None}},
        "definitions": {"title": {"title": "x"}},
        "items": {"title": "x", "$defs": {"title": {"title": "x"}}},
    }
    assert arguments_schema(schema) == {
        "type": "object",
        "examples": [data],
        "properties": {
            "title": {"default": 0, "const": data},
            "x-also": {"enum": [data, 1], "anyOf": [{}, TEXT]},
            "default": {"default": data},
        },
        "patternProperties": {"default": {}},
        "dependentSchemas": {"title": {}},
        "definitions": {"title": {}},
        "items": {"$defs": {"title": {}}},
    }


def test_only_the_definitions_that_the_arguments_reach_are_kept() -> None:
    schema: Json = {
        "$defs": {
            "Unused": TEXT,
            "Far": {"title": "Far", "items": [{"$ref": "#/$defs/Far"}]},
            "Near": {
                "description": "Unused",
                "anyOf": [{"$ref": "#/$defs/Far"}, {"$ref": "#/$defs/Unknown"}],
                "properties": {"$ref": {"type": "null"}},
            },
        },
        "properties": {"a": {"$ref": "#/$defs/Near"}, "b": {"$ref": "#/$defs/Unused"}},
    }
    assert arguments_schema(schema, {"b"}) == {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Near"}},
        "$defs": {
            "Far": {"items": [{"$ref": "#/$defs/Far"}]},
            "Near": {
                "description": "Unused",
                "anyOf": [{"$ref": "#/$defs/Far"}, {"$ref": "#/$defs/Unknown"}],
                "properties": {"$ref": {"type": "null"}},
            },
        },
    }
    assert arguments_schema({**schema, "$defs": "?"}, {"b"}) == {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Near"}},
    }
    assert arguments_schema(schema, {"a", "b"}) == taking()


def test_declared_properties_stand_beside_the_query_and_a_whole_schema_stands_alone() -> None:
    query: Json = {"type": "string", "minLength": 1}
    assert declared_arguments(None) == declared_arguments({}) == schema_of_properties({})
    assert declared_arguments({"type": TEXT}) == {
        "type": "object",
        "properties": {"query": query, "type": TEXT},
        "required": ["query"],
        "additionalProperties": False,
    }
    for whole in (taking("a"), dict[str, JsonValue]({"$ref": "#/$defs/A"})):
        assert is_whole_schema(whole)
        assert declared_arguments(whole) is whole
