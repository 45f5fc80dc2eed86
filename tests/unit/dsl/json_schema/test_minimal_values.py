"""Small values that a schema accepts, made up without chance."""

from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.dsl.json_schema.minimal_values import NoMinimalValue, minimal_value
from coterie.dsl.json_schema.schema_checker import mismatches
from coterie.dsl.values import Json, JsonValue

NODE: Json = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 6},
                "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            },
            "required": ["name", "next"],
        }
    },
    "$ref": "#/$defs/node",
}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "maxLength": 2}, "te"),
        ({"type": "string", "minLength": 6}, "textxx"),
        ({"type": "string", "format": "date"}, "2026-01-01"),
        ({"type": "string", "pattern": r"^\d+$"}, "0"),
        ({"type": "string", "pattern": "^[a-z]{4}-[0-9]$", "examples": ["abcd-1"]}, "abcd-1"),
        ({"type": "string", "default": "en"}, "en"),
        ({"type": "string", "enum": ["no", "yes"]}, "no"),
        ({"const": {"a": 1}}, {"a": 1}),
        ({"type": "integer"}, 0),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "exclusiveMinimum": 3}, 4),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "not": {"const": 0}}, 1),
        ({"type": "integer", "exclusiveMinimum": 300}, 301),
        ({"type": "integer", "minimum": 300.5}, 301),
        ({"type": "integer", "exclusiveMaximum": -300}, -301),
        ({"type": "integer", "maximum": -300.5}, -301),
        ({"type": "number", "exclusiveMinimum": 300, "maximum": 300.7}, 300.5),
        ({"type": "integer", "minimum": 50, "multipleOf": 7}, 56),
        ({"type": "integer", "minimum": 700, "multipleOf": 7}, 700),
        ({"type": "integer", "exclusiveMinimum": 700, "multipleOf": 7}, 707),
        ({"type": "integer", "maximum": -703, "multipleOf": 7}, -707),
        ({"type": "integer", "exclusiveMaximum": -700, "multipleOf": 7}, -707),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({}, None),
        ({"type": ["string", "null"]}, "text"),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [0, 0]),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 3, "uniqueItems": True},
            ["text", "a", "A"],
        ),
        ({"type": "array", "contains": {"const": 7}}, [7]),
        ({"type": "array", "prefixItems": [{"const": 1}], "minItems": 1}, [1]),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
                "required": ["a"],
            },
            {"a": "a"},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "null"}}, "minProperties": 1},
            {"a": None},
        ),
        ({"required": ["a"], "dependentRequired": {"a": ["b"]}}, {"a": None, "b": None}),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, None),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 0.5),
        (
            {"type": "object", "allOf": [{"required": ["a"]}, {"properties": {"a": {"const": 1}}}]},
            {"a": 1},
        ),
        ({"type": "string", "pattern": "^text[0-9]$"}, "text2"),
        ({"type": "boolean", "not": {"const": False}}, True),
        ({"type": "array", "minItems": 1}, [None]),
        ({"type": "integer", "anyOf": [False, True]}, 0),
        ({"type": "integer", "oneOf": [False, {"minimum": 2}]}, 2),
        (NODE, {"name": "namexx", "next": None}),
    ],
)
def test_a_value_is_the_smallest_of_its_kind(schema: Json, value: JsonValue) -> None:
    assert minimal_value(schema) == value
    assert mismatches(value, schema) == []


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"not": {}}, "excluded"),
        ({"type": "string", "pattern": "^x{200}$"}, "does not match"),
        ({"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, "too deep"),
        ({"type": "integer", "minimum": 2, "maximum": 1}, "not at least 2"),
    ],
)
def test_a_schema_without_such_a_value_says_what_is_in_the_way(schema: Json, reason: str) -> None:
    with pytest.raises(NoMinimalValue, match=reason):
        minimal_value(schema)


WRAPPED: list[Callable[[Json], Json]] = [
    lambda schema: {"type": "object", "properties": {"a": schema}, "required": ["a"]},
    lambda schema: {"type": "object", "additionalProperties": schema, "required": ["a"]},
    lambda schema: {"type": "array", "items": schema, "minItems": 1},
    lambda schema: {"type": "array", "contains": schema},
    lambda schema: {"allOf": [schema]},
    lambda schema: {"anyOf": [schema]},
]


@pytest.mark.parametrize("wrap", WRAPPED)
def test_a_value_is_nested_twenty_four_levels_deep_at_most(wrap: Callable[[Json], Json]) -> None:
    schema: Json = {"type": "null"}
    for _ in range(24):
        schema = wrap(schema)
    assert mismatches(minimal_value(schema), schema) == []
    with pytest.raises(NoMinimalValue):
        minimal_value(wrap(schema))


def test_a_reference_is_followed_twenty_four_times_at_most() -> None:
    links: Json = {str(number): {"$ref": f"#/$defs/{number - 1}"} for number in range(1, 25)}
    definitions: Json = {"0": {"type": "null"}, **links}
    assert minimal_value({"$ref": "#/$defs/23", "$defs": definitions}) is None
    with pytest.raises(NoMinimalValue):
        minimal_value({"$ref": "#/$defs/24", "$defs": definitions})


def test_a_value_is_given_up_after_two_thousand_tries() -> None:
    tries: list[JsonValue] = [0] * 1999
    assert minimal_value({"type": "integer", "minimum": 1, "examples": [*tries, 7]}) == 7
    with pytest.raises(NoMinimalValue, match="the value is 0, not at least 1"):
        minimal_value({"type": "integer", "minimum": 1, "examples": [*tries, 0, 7]})


def test_an_empty_value_that_a_part_of_the_schema_demands_is_kept() -> None:
    empty: JsonValue = []
    assert minimal_value({"allOf": [{"const": empty}]}) == empty


def schemas() -> st.SearchStrategy[Json]:
    leaves: list[Json] = [
        {"type": "string"},
        {"type": "integer", "minimum": 2},
        {"type": "boolean"},
        {"enum": ["a", 1, None]},
        {"type": "number", "multipleOf": 0.5, "exclusiveMinimum": 1},
        {"type": ["null", "string"]},
    ]

    def nested(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
        properties = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
        objects = properties.map(
            lambda given: cast(
                "Json", {"type": "object", "properties": given, "required": [*given]}
            )
        )
        arrays = st.tuples(inner, st.integers(0, 2)).map(
            lambda pair: cast("Json", {"type": "array", "items": pair[0], "minItems": pair[1]})
        )
        options = st.lists(inner, min_size=1, max_size=2).map(
            lambda given: cast("Json", {"anyOf": given})
        )
        return objects | arrays | options

    return st.recursive(st.sampled_from(leaves), nested, max_leaves=5)


@given(schemas())
def test_every_plain_schema_has_a_value_and_always_the_same_one(schema: Json) -> None:
    value = minimal_value(schema)
    assert mismatches(value, schema) == []
    assert minimal_value(schema) == value
