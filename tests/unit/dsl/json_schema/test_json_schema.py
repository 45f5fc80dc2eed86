"""JSON Schema inside a run: as the library finds it, and never too long."""

import json
from contextlib import suppress
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import JsonValue

from coterie.dsl.json_schema.keyword_check import MAX_ERRORS, excerpt, weight
from coterie.dsl.json_schema.schema_checker import (
    UnusableSchema,
    answer_mismatches,
    mismatches,
)
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.values import Json
from tests.support.documents.hostile_schemas import HOSTILE_SCHEMAS
from tests.support.documents.strategies import json_values
from tests.support.measured import cpu_seconds

CLOSED: Json = {"additionalProperties": False}
MAX_CPU = 1.0
"""Seconds; ten times what is promised, which no machine can blame on its load."""
MAX_ANSWER_CPU = 3.0
"""Seconds on a thread of its own; the library takes minutes for most of these."""
_KEYS = ("a", "b", "c")
_values = st.recursive(
    st.sampled_from((None, True, False, 0, 1, 2, 1.0, 2.5, -3, "", "a", "abc", "b1")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner),
    max_leaves=6,
)
_types = st.sampled_from(("object", "array", "string", "integer", "number", "boolean", "null"))
_counts = st.integers(0, 3)
_numbers = st.sampled_from((0, 1, 2, 2.5, -1))
_names = st.lists(st.sampled_from(_KEYS), unique=True, max_size=3)


def _schemas(inner: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    some = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(st.sampled_from(_KEYS), inner, max_size=3)
    words: dict[str, Any] = {
        "type": _types | st.lists(_types, unique=True, min_size=1, max_size=3),
        "enum": st.lists(_values, min_size=1, max_size=3),
        "const": _values,
        "minimum": _numbers,
        "maximum": _numbers,
        "exclusiveMinimum": _numbers,
        "exclusiveMaximum": _numbers,
        "multipleOf": st.sampled_from((1, 2, 0.5)),
        "minLength": _counts,
        "maxLength": _counts,
        "pattern": st.sampled_from(("^a", "b", "[0-9]$")),
        "required": _names,
        "properties": named,
        "additionalProperties": inner,
        "propertyNames": inner,
        "minProperties": _counts,
        "maxProperties": _counts,
        "dependentRequired": st.dictionaries(st.sampled_from(_KEYS), _names, max_size=2),
        "dependentSchemas": named,
        "items": inner,
        "prefixItems": some,
        "contains": inner,
        "uniqueItems": st.booleans(),
        "minContains": _counts,
        "maxContains": _counts,
        "minItems": _counts,
        "maxItems": _counts,
        "allOf": some,
        "anyOf": some,
        "oneOf": some,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "format": st.just("date"),
        "title": st.just("t"),
        "$ref": st.just("#/$defs/x"),
        "unevaluatedProperties": inner,
        "unevaluatedItems": inner,
    }
    return st.fixed_dictionaries({}, optional=words)


_NOTHING: JsonValue = {}
_inner = st.recursive(st.booleans() | st.just(_NOTHING), _schemas, max_leaves=4)


@given(_inner, _inner, _values)
def test_schema_checker_agrees_with_the_library(
    schema: JsonValue, shared: JsonValue, value: JsonValue
) -> None:
    whole: Json = {"$defs": {"x": shared}, "allOf": [schema]}
    if schema_problem(whole) is None:  # else it refers to itself without end
        valid: bool = cast("Any", Draft202012Validator(whole)).is_valid(value)
        assert (mismatches(value, whole) == []) == valid


@given(
    st.dictionaries(
        st.sampled_from(
            (
                "type",
                "properties",
                "items",
                "required",
                "enum",
                "$ref",
                "anyOf",
                "minimum",
                "pattern",
                "if",
                "not",
                "minLength",
                "multipleOf",
                "dependentRequired",
                "uniqueItems",
            )
        ),
        json_values,
    ),
    json_values,
)
def test_schema_checker_answers_for_any_schema_or_says_that_it_cannot(
    schema: Json, value: JsonValue
) -> None:
    try:
        found = mismatches(value, schema)
    except UnusableSchema:
        return
    assert len(found) <= MAX_ERRORS


OFFER: Json = {
    "type": "object",
    "properties": {
        "amount": {"type": "integer", "minimum": 1, "maximum": 500},
        "currency": {"enum": ["EUR", "USD"]},
        "lines": {"type": "array", "items": {"type": "string", "minLength": 2}, "minItems": 1},
        "note": {"anyOf": [{"type": "string", "pattern": "^[A-Z]"}, {"type": "null"}]},
    },
    "required": ["amount"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"amount": 501}, "payload.amount is 501, not at most 500"),
        ({"amount": "5"}, "payload.amount is a text, not a whole number"),
        ({"amount": True}, "payload.amount is a boolean, not a whole number"),
        ({"currency": "EUR"}, "payload lacks the key 'amount'"),
        ({"amount": 1, "x": 1}, "payload has the key 'x'; allowed: amount, currency, lines, note"),
        ({"amount": 1, "currency": "GBP"}, 'payload.currency is "GBP", not one of "EUR", "USD"'),
        ({"amount": 1, "lines": ["ab", "c"]}, "payload.lines[1] has 1 characters, not at least 2"),
        ({"amount": 1, "lines": []}, "payload.lines has 0 entries, not at least 1"),
        (
            {"amount": 1, "note": "small"},
            "payload.note is \"small\", which does not match '^[A-Z]'",
        ),
        ([], "payload is a list, not a mapping"),
    ],
)
def test_schema_checker_names_the_field_and_the_reason(value: JsonValue, message: str) -> None:
    assert mismatches(value, OFFER, "payload") == [message]


_STEPS: dict[str, Any] = {
    f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 4} for n in range(12)
}
DOUBLING: Json = {"$defs": {**_STEPS, "d12": True}, "$ref": "#/$defs/d0"}
PATTERNS: Json = {"allOf": [{"pattern": f"^(a|b{n})*$"} for n in range(2000)]}


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (DOUBLING, 1, "it takes too long to check"),
        (PATTERNS, "a" * 100_000, "it takes too long to check"),
        ({"$ref": "#"}, 1, "it refers to itself without end"),
        ({"not": {"$ref": "#"}}, 1, "it refers to itself without end"),
        ({"$ref": "https://x"}, 1, "it refers to 'https://x'"),
        ({"$ref": "#/$defs/none"}, 1, "it refers to '#/$defs/none', which it does not define"),
        ({"pattern": "("}, "a", "it is no JSON Schema"),
        ({"multipleOf": 0}, 4, "it is no JSON Schema"),
        ({"type": "text"}, 4, "it is no JSON Schema"),
    ],
)
def test_a_hostile_schema_costs_little_and_is_not_used(
    schema: Json, value: JsonValue, message: str
) -> None:
    with pytest.raises(UnusableSchema) as raised:
        mismatches(value, schema)
    assert str(raised.value) == message


@pytest.mark.parametrize("case", range(len(HOSTILE_SCHEMAS)))
def test_every_keyword_costs_little_however_large_the_schema_and_the_value(case: int) -> None:
    """Both may come from outside: from a server of tools, and from a model."""
    schema, value = HOSTILE_SCHEMAS[case]

    def check() -> None:
        with suppress(UnusableSchema):
            assert sum(map(len, mismatches(value, schema))) < 1000

    assert cpu_seconds(check, MAX_CPU) < MAX_CPU


@pytest.mark.parametrize("case", range(0, len(HOSTILE_SCHEMAS), 3))
def test_an_answer_costs_little_however_large_it_and_its_schema_are(case: int) -> None:
    schema, value = HOSTILE_SCHEMAS[case]

    def check() -> None:
        with suppress(UnusableSchema):
            answer_mismatches(value, schema)

    assert cpu_seconds(check, MAX_ANSWER_CPU) < MAX_ANSWER_CPU


def test_an_error_lists_a_hundred_names_and_counts_the_rest() -> None:
    (error,) = mismatches(
        {"z": 1}, {"properties": {f"k{n:04}": True for n in range(2000)}, **CLOSED}
    )
    assert error.endswith(", k0098, k0099 and 1900 more")
    (error,) = mismatches(-1, {"enum": list(range(2000))})
    assert error.endswith(", 98, 99 and 1900 more")


@given(json_values, st.integers(0, 80))
def test_a_value_is_shortened_as_if_it_had_been_rendered_whole(value: JsonValue, most: int) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert excerpt(value, most) == (text if len(text) <= most else f"{text[:most]}...")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, 1),
        (True, 1),
        (7, 1),
        (2.5, 1),
        ("text", 1),
        ([], 1),
        ([1, 2.5, None, "x", False], 6),
        ({"a": {"b": [1]}, "c": ""}, 5),
    ],
)
def test_a_value_weighs_one_step_for_each_of_its_parts(value: JsonValue, expected: int) -> None:
    assert weight(value) == expected
