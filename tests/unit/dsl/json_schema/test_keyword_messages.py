"""Each keyword accepts a value at its limit, and says what is wrong beyond it."""

from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from coterie.dsl.json_schema.keyword_check import MAX_ERRORS, excerpt, some_of
from coterie.dsl.json_schema.references import is_own, target_of
from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.values import Json


@pytest.mark.parametrize(
    ("schema", "fits", "wrong", "message"),
    [
        ({"type": ["integer", "null"]}, 3.0, 3.5, "v is a number, not a whole number or null"),
        ({"type": "number"}, 3, True, "v is a boolean, not a number"),
        ({"type": "boolean"}, False, 0, "v is a number, not true or false"),
        ({"type": "object"}, {}, [], "v is a list, not a mapping"),
        ({"type": "array"}, [], {}, "v is a mapping, not a list"),
        ({"type": "string"}, "", None, "v is null, not a text"),
        ({"type": "null"}, None, "", "v is a text, not null"),
        ({"enum": [1, "a", None]}, 1.0, True, 'v is true, not one of 1, "a", null'),
        ({"const": {"a": [1]}}, {"a": [1.0]}, {"a": [2]}, 'v is {"a": [2]}, not {"a": [1]}'),
        ({"minimum": 2}, 2, 1.5, "v is 1.5, not at least 2"),
        ({"maximum": 2}, 2, 2.5, "v is 2.5, not at most 2"),
        ({"exclusiveMinimum": 2}, 2.5, 2, "v is 2, not more than 2"),
        ({"exclusiveMaximum": 2}, 1.5, 2, "v is 2, not less than 2"),
        ({"multipleOf": 3}, 9, 10, "v is 10, not a multiple of 3"),
        ({"multipleOf": 0.01}, 19.99, 19.999, "v is 19.999, not a multiple of 0.01"),
        ({"multipleOf": 0.1}, 10, 10.05, "v is 10.05, not a multiple of 0.1"),
        ({"multipleOf": 0.5}, 2, 2.25, "v is 2.25, not a multiple of 0.5"),
        ({"minLength": 2}, "ab", "a", "v has 1 characters, not at least 2"),
        ({"maxLength": 2}, "ab", "abc", "v has 3 characters, not at most 2"),
        ({"pattern": "b$"}, "ab", "ba", "v is \"ba\", which does not match 'b$'"),
        ({"minProperties": 1}, {"a": 1}, {}, "v has 0 keys, not at least 1"),
        ({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 1}, "v has 2 keys, not at most 1"),
        ({"minItems": 1}, [1], [], "v has 0 entries, not at least 1"),
        ({"maxItems": 1}, [1], [1, 2], "v has 2 entries, not at most 1"),
        ({"required": ["a", "b"]}, {"a": 1, "b": 1}, {"a": 1}, "v lacks the key 'b'"),
        ({"properties": {"a": False}}, {"b": 1}, {"a": 1}, "v.a must not be there"),
        ({"additionalProperties": False}, {}, {"a": 1}, "v has the key 'a'; allowed: none"),
        (
            {"properties": {"b": {}, "a": {}}, "additionalProperties": {"type": "null"}},
            {"a": 1, "c": None},
            {"a": 1, "c": 1},
            "v.c is a number, not null",
        ),
        ({"dependentRequired": {"a": ["b"]}}, {"c": 1}, {"a": 1}, "v lacks the key 'b'"),
        (
            {"dependentSchemas": {"a": {"maxProperties": 1}}},
            {"b": 1, "c": 1},
            {"a": 1, "b": 1},
            "v has 2 keys, not at most 1",
        ),
        (
            {"propertyNames": {"maxLength": 1}},
            {"a": 1},
            {"ab": 1},
            "the key 'ab' of v has 2 characters, not at most 1",
        ),
        ({"items": {"type": "null"}}, [None], [None, 1], "v[1] is a number, not null"),
        (
            {"prefixItems": [{"type": "null"}], "items": {"const": 1}},
            [None, 1],
            [None, 1, 2],
            "v[2] is 2, not 1",
        ),
        ({"prefixItems": [{}, {"type": "null"}]}, [1], [1, 2, 3], "v[1] is a number, not null"),
        (
            {"contains": {"const": 1}},
            [2, 1],
            [2],
            "v has 0 of the entries that it must contain",
        ),
        (
            {"contains": {"const": 1}, "minContains": 2, "maxContains": 3},
            [1, 1, 2, 1],
            [1, 1, 1, 1],
            "v has 4 of the entries that it must contain",
        ),
        (
            {"contains": {"const": 1}, "minContains": 2},
            [1, 1],
            [1],
            "v has 1 of the entries that it must contain",
        ),
        ({"uniqueItems": True}, [1, 1.5, "1"], [{"a": 1}, {"a": 1.0}], "v has an entry twice"),
        ({"uniqueItems": True}, [[1], [2]], [[1, "b"], [1.0, "b"]], "v has an entry twice"),
        (
            {"uniqueItems": True},
            [{"a": 1}, {"a": 2}],
            [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
            "v has an entry twice",
        ),
        ({"allOf": [True, {"type": "null"}]}, None, 1, "v is a number, not null"),
        (
            {"anyOf": [{"required": ["a", "b"]}, {"required": ["c"]}]},
            {"a": 1, "b": 1},
            {},
            "v lacks the key 'c'",
        ),
        (
            {"oneOf": [{"minimum": 1}, {"minimum": 2}, {"minimum": 3}]},
            1,
            3,
            "v fits 3 forms of which it must fit one",
        ),
        (
            {"oneOf": [{"minimum": 1}, {"minimum": 2}]},
            1,
            2,
            "v fits 2 forms of which it must fit one",
        ),
        ({"oneOf": [{"minimum": 2}, {"minimum": 3}]}, 2, 1, "v is 1, not at least 2"),
        ({"not": {"type": "null"}}, 1, None, "v is null, which is excluded"),
        (
            {"if": {"type": "null"}, "then": False, "else": {"const": 1}},
            1,
            None,
            "v must not be there",
        ),
        ({"if": {"type": "null"}, "else": {"const": 1}}, None, 2, "v is 2, not 1"),
        (
            {"$ref": "#/$defs/~1a", "$defs": {"/a": {"type": "null"}}},
            None,
            1,
            "v is a number, not null",
        ),
    ],
)
def test_a_keyword_accepts_and_rejects(
    schema: Json, fits: JsonValue, wrong: JsonValue, message: str
) -> None:
    assert mismatches(fits, schema, "v") == []
    assert mismatches(wrong, schema, "v") == [message]


@pytest.mark.parametrize(
    "schema",
    [
        {"minimum": 2, "multipleOf": 3, "exclusiveMaximum": 0},
        {"minLength": 9, "pattern": "^b"},
        {"required": ["a"], "minProperties": 2, "propertyNames": False, "properties": {"a": False}},
        {"required": [], "additionalProperties": False, "dependentRequired": {"a": ["b"]}},
        {"required": [], "dependentSchemas": {"a": False}},
        {"items": False, "prefixItems": [False], "minItems": 1, "contains": False},
        {"items": {}, "uniqueItems": True},
        {"title": 1, "format": "date", "unheard_of": False, "then": False},
    ],
)
def test_a_keyword_about_another_kind_of_value_says_nothing(schema: Json) -> None:
    one: JsonValue = {"a": 1}
    two: JsonValue = [1, 1]
    values: dict[str, JsonValue] = {"minimum": 1, "minLength": "a", "items": two, "required": one}
    values = {word: value for word, value in values.items() if word not in schema}
    found = {word: mismatches(value, schema) for word, value in (values | {"": None}).items()}
    assert found == {word: [] for word in (*values, "")}


def test_no_more_than_ten_errors_are_listed() -> None:
    zeros: list[JsonValue] = [0] * 12
    found = mismatches(zeros, {"items": False})
    assert found == [f"the value[{index}] must not be there" for index in range(MAX_ERRORS)]
    many: Json = {"anyOf": [{"items": False}, {"items": False, "maxItems": 1}]}
    assert mismatches(zeros, many) == found


@pytest.mark.parametrize("schema", [{"items": 1}, {"not": None}, {"allOf": ["a"]}, {"enum": 1}])
def test_what_is_no_schema_gives_no_verdict(schema: Json) -> None:
    with pytest.raises(UnusableSchema, match=r"^it is no JSON Schema$"):
        mismatches([1], schema)


def test_a_value_and_a_list_of_names_are_shortened_beyond_their_limits() -> None:
    assert excerpt("x" * 58) == f'"{"x" * 58}"'
    assert excerpt("x" * 59) == f'"{"x" * 59}...'
    assert excerpt("x" * 9, 4) == '"xxx...'
    assert excerpt({"aaa": 1, "aaab": 2}, 10) == '{"aaa": 1,...'
    assert some_of(["n"] * 100) == ", ".join(["n"] * 100)
    assert some_of(["n"] * 101) == ", ".join(["n"] * 100) + " and 1 more"


def test_a_large_value_is_read_no_further_than_it_is_shown() -> None:
    class Unending(list[JsonValue]):
        def __iter__(self) -> Iterator[JsonValue]:
            yield from [""] * 3
            pytest.fail("this part is not shown")

    assert excerpt(Unending(), 7) == '["", ""...'
    assert excerpt({"a": Unending(), "b": 1}, 13) == '{"a": ["", ""...'


@pytest.mark.parametrize(
    ("reference", "own"),
    [
        ("#", True),
        ("#/$defs/a", True),
        ("#/definitions/a", True),
        ("#/properties/a", False),
        ("#/$defs/a/b", False),
        ("#/$defs/a%25", False),
        ("#name", True),
        ("#1", False),
        ("other#name", False),
    ],
)
def test_a_reference_stays_within_its_schema_or_not(reference: str, *, own: bool) -> None:
    assert is_own(reference) is own


def test_a_reference_leads_to_the_whole_schema_a_definition_or_an_anchor() -> None:
    schema: Json = {"$defs": {"a": {"b~/": [1]}, "n": None}}
    assert target_of(schema, "#", {}) is schema
    assert target_of(schema, "#/$defs/a/b~0~1", {}) == [1]
    assert target_of(schema, "#/$defs/a/b~0~1/0", {}) is None
    assert target_of(schema, "#/$defs/c", {}) is None
    assert target_of(schema, "#name", {"name": {"type": "null"}}) == {"type": "null"}
    assert target_of(schema, "#name", {}) is None
