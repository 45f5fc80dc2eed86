"""A check inside a run costs the same on every machine: each keyword charges for what it reads."""

import pytest
from pydantic import JsonValue

from coterie.dsl.json_schema.keyword_check import UnusableSchema, weight
from coterie.dsl.json_schema.patterns import schema_pattern
from coterie.dsl.json_schema.schema_checker import mismatches
from coterie.dsl.values import Json

MAX_WORK = 50_000
OWN = 3
"""Steps of the two `not` around the schema, and of the schema itself."""


def check(schema: Json, value: JsonValue, spent: int) -> None:
    """Check once that many steps are spent: a step for each 100 characters of the place."""
    definitions: JsonValue = schema.get("$defs")
    whole: Json = {"$defs": definitions, "not": {"not": schema}}
    mismatches(value, whole, "x" * 100 * (spent - OWN))


def keys(number: int, first: str = "k") -> list[str]:
    return [f"{first}{index}" for index in range(number)]


def some(number: int) -> Json:
    return dict.fromkeys(keys(number), None)


@pytest.mark.parametrize(
    ("schema", "value", "steps"),
    [
        ({}, {"a": 1}, 0),
        ({"type": ["null"] * 19}, None, 0),
        ({"type": ["null"] * 40}, None, 2),
        ({"enum": [1, "x" * 199, [2, 3]]}, [2, 3], 1 + 2 + 3),
        ({"const": {"k" * 100: [2**199]}}, 1, 1 + 1 + 1 + 2),
        ({"minimum": 2**198}, 2**198, 0),
        ({"minimum": 2**199}, 2**399, 1 + 2),
        ({"maximum": 1.5}, 1, 0),
        ({"exclusiveMinimum": 2**199}, "text", 1),
        ({"multipleOf": 1}, 2**199, 1),
        ({"minLength": 1}, "x" * 1000, 0),
        ({"required": keys(19)}, some(19), 0),
        ({"required": keys(40)}, some(40), 2),
        ({"properties": dict.fromkeys(keys(40), True)}, {"k1": 1}, 2 + 1),
        ({"additionalProperties": True}, some(40), 2 + 40),
        ({"additionalProperties": False}, {"n" * 250: 1}, 2),
        (
            {"additionalProperties": False, "properties": dict.fromkeys(keys(40), True)},
            {"n" * 250: 1},
            2 + 2,
        ),
        ({"dependentRequired": {key: ["k"] for key in keys(40)}}, {}, 2),
        ({"dependentRequired": {"k0": keys(40)}}, some(40), 2),
        ({"dependentSchemas": dict.fromkeys(keys(40), True)}, {"k0": 1}, 2 + 1),
        ({"propertyNames": True}, {"n" * 200: 1}, 2 + 1 + 2),
        ({"items": True}, [0] * 5, 5),
        ({"prefixItems": [True] * 40, "items": False}, [0] * 40, 40 + 2),
        ({"contains": True, "minContains": 3}, [0] * 5, 5),
        ({"uniqueItems": True}, ["x" * 100, 1], 1 + 2 + 1),
        ({"uniqueItems": False}, ["x" * 100, 1], 0),
        ({"$ref": "#/$defs/a", "$defs": {"a": True}}, 1, 1),
        ({"$ref": f"#/$defs/{'a' * 192}", "$defs": {"a" * 192: True}}, 1, 2 + 1),
        ({"allOf": [True, True]}, 1, 2),
        ({"anyOf": [False, True, True]}, 1, 2),
        ({"oneOf": [True, False, False]}, 1, 3),
        ({"oneOf": [False, False]}, 1, 2 + 2),
        ({"not": True}, 1, 1),
        ({"if": True, "then": True, "else": False}, 1, 2),
        ({"if": False, "else": True}, 1, 2),
        ({"if": False}, 1, 1),
    ],
)
def test_a_keyword_is_checked_up_to_the_last_step_that_is_allowed(
    schema: Json, value: JsonValue, steps: int
) -> None:
    check(schema, value, MAX_WORK - steps)
    with pytest.raises(UnusableSchema, match="too long"):
        check(schema, value, MAX_WORK - steps + 1)


@pytest.mark.parametrize("length", [0, 250, 4000])
def test_a_pattern_costs_by_its_program_and_the_text(length: int) -> None:
    pattern = "(ab|c){9}"
    size = schema_pattern(pattern).programsize
    assert size > 20
    steps = 20 + length * size // 250 + size // 20
    check({"pattern": pattern}, "c" * length, MAX_WORK - steps)
    with pytest.raises(UnusableSchema, match="too long"):
        check({"pattern": pattern}, "c" * length, MAX_WORK - steps + 1)


def test_a_long_pattern_costs_by_its_length_too() -> None:
    pattern = f"^{'a' * 299}"
    steps = 20 + 3 + schema_pattern(pattern).programsize // 20
    check({"pattern": pattern}, "", MAX_WORK - steps)
    with pytest.raises(UnusableSchema, match="too long"):
        check({"pattern": pattern}, "", MAX_WORK - steps + 1)


@pytest.mark.parametrize(
    ("value", "steps"),
    [
        ("x" * 99, 1),
        ("x" * 100, 2),
        (2**199 - 1, 1),
        (2**199, 2),
        ({"k" * 200: 1}, 4),
        (1e300, 1),
    ],
)
def test_a_long_text_and_a_long_number_weigh_more(value: JsonValue, steps: int) -> None:
    assert weight(value) == steps


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf", "not", "items", "properties"])
def test_schemas_are_nested_a_hundred_deep_at_most(word: str) -> None:
    schema: Json = {}
    value: JsonValue = 1
    for _ in range(100):
        schema = {word: [schema] if word.endswith("Of") else schema}
        if word == "properties":
            schema = {word: {"a": schema[word]}}
        value = {"items": [value], "properties": {"a": value}}.get(word, value)
    mismatches(value, schema)
    deeper: Json = {"allOf": [schema]}
    with pytest.raises(UnusableSchema, match="without end"):
        mismatches(value, deeper)
