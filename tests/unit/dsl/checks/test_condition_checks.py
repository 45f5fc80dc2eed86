"""A condition that is said never to hold does not hold, whatever fits the schema."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import JsonValue

from coterie.dsl.checks.contracts.known_answers import schema_at
from coterie.dsl.checks.steps.condition_checks import possible_in
from coterie.dsl.evaluate.operator_table import OPERATORS, wrong_value
from coterie.dsl.model.conditions import Operator
from coterie.dsl.paths import MISSING
from coterie.dsl.values import Json
from tests.support.compiling import problems_of

DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas: {{ judge: {{ prompts: {{ user: "Judge." }}, output_schema: {schema} }} }}
orchestration:
  entry_team: draft
  teams:
    draft:
      tasks:
        - {{ name: judge, agent_type: generic_single_shot, persona_key: judge, config: {config} }}
      routing:
        rules: [{{ condition: {{ task: judge, {asked} }}, next_team: null }}]
        default: null
"""
SCHEMA = "{properties: {verdict: {enum: [PASS, FAIL]}, score: {type: integer, maximum: 10}}}"

NAMES = sorted(OPERATORS)
numbers = st.integers(-3, 3) | st.sampled_from([0.5, 2.0])
words = st.sampled_from(["", "a", "ab", "7", "PASS"])
scalars = st.none() | st.booleans() | numbers | words
values: st.SearchStrategy[JsonValue] = st.recursive(
    scalars, lambda below: st.lists(below, max_size=3) | st.dictionaries(words, below, max_size=2)
)
types = st.sampled_from(["string", "number", "integer", "boolean", "array", "object", "null"])
several: st.SearchStrategy[JsonValue] = st.sampled_from(
    [["string", "null"], ["integer", "string"], ["number", "boolean", "array"]]
)
keywords: dict[str, st.SearchStrategy[JsonValue]] = {
    "type": types | several,
    "enum": st.lists(values, min_size=1, max_size=3),
    "minimum": numbers,
    "exclusiveMaximum": numbers,
    "minLength": st.integers(0, 3),
    "maxLength": st.integers(0, 3),
    "maxItems": st.integers(0, 3),
}
schemas: st.SearchStrategy[Json] = st.fixed_dictionaries({}, optional=keywords)


@given(schema=schemas, operator=st.sampled_from(NAMES), value=values, data=values)
def test_data_that_fits_never_meets_what_is_said_to_be_impossible(
    schema: Json, operator: Operator, value: JsonValue, data: JsonValue
) -> None:
    if operator == "matches" or wrong_value(operator, value) is not None:
        return
    if not possible_in(schema, operator, value):
        assert not OPERATORS[operator].test(MISSING, value)
        checked = Draft202012Validator(schema)
        if checked.is_valid(data):  # pyright: ignore[reportUnknownMemberType]
            assert not OPERATORS[operator].test(data, value)


@pytest.mark.parametrize(
    ("schema", "operator", "value"),
    [
        ({"type": "integer"}, "greater_than", "7"),
        ({"type": "integer"}, "equals", 7.5),
        ({"type": "number"}, "min_length", 1),
        ({"type": "boolean"}, "equals", "true"),
        ({"type": ["string", "null"]}, "in_range", [1, 2]),
        ({"type": "string", "maxLength": 2}, "has_length", 3),
        ({"type": "object"}, "is_type", "list"),
        ({"const": "PASS"}, "starts_with", "F"),
        ({"enum": [1, 2]}, "in", [3, "1"]),
    ],
)
def test_these_can_never_hold(schema: Json, operator: Operator, value: JsonValue) -> None:
    assert not possible_in(schema, operator, value)


@pytest.mark.parametrize(
    ("schema", "operator", "value"),
    [
        ({}, "equals", 1),
        ({"type": "integer"}, "equals", 7.0),
        ({"type": "integer"}, "is_null", None),
        ({"type": "integer"}, "exists", False),
        ({"type": ["string", "integer"]}, "greater_than", "7"),
        ({"type": "thing"}, "equals", 1),
        ({"enum": ["PASS", 1]}, "in", ["FAIL", 1]),
    ],
)
def test_these_may_hold(schema: Json, operator: Operator, value: JsonValue) -> None:
    assert possible_in(schema, operator, value)


@pytest.mark.parametrize(
    ("asked", "fix"),
    [
        ("output_field: verdict, operator: equals, value: PASSED", "did you mean 'PASS'?"),
        ("output_field: verdict, operator: not_equals, value: fail", "did you mean 'FAIL'?"),
        ("output_field: score, operator: greater_than, value: '7'", "write 7 without quotes"),
        ("output_field: score, operator: greater_than, value: '70'", ""),
        ("output_field: score, operator: starts_with, value: '7'", ""),
    ],
)
def test_the_fix_says_what_was_meant_only_if_it_can_hold(asked: str, fix: str) -> None:
    (problem,) = problems_of(DOCUMENT.format(schema=SCHEMA, config="{}", asked=asked))
    assert (problem.code, problem.fix) == ("E404", fix)


def test_a_condition_is_reported_once_when_it_has_another_mistake() -> None:
    asked = "output_field: score, operator: in_range, value: '7'"
    (problem,) = problems_of(DOCUMENT.format(schema=SCHEMA, config="{}", asked=asked))
    assert problem.code == "E402"


@pytest.mark.parametrize(
    ("config", "codes"),
    [
        ("{output_schema: {properties: {verdict: {enum: ['YES']}}}}", ["E404"]),
        ("{output_schema: {properties: {verdict: {enum: [PASS]}}}}", []),
        ("{output_schema: {properties: {more: {type: string}}, additionalProperties: false}}", []),
        ("{output_schema: null}", []),
    ],
)
def test_the_schema_is_the_persona_s_with_the_task_s_laid_over_it(
    config: str, codes: list[str]
) -> None:
    asked = "output_field: verdict, operator: equals, value: PASS"
    found = problems_of(DOCUMENT.format(schema=SCHEMA, config=config, asked=asked))
    assert [problem.code for problem in found] == codes


def test_condition_check_is_silent_when_the_schema_is_not_plain() -> None:
    assert schema_at({"anyOf": [{"type": "string"}]}, ()) is None
    assert schema_at({"properties": {"a": {"$ref": "#/x"}}}, ("a",)) is None
    assert schema_at({"type": "array", "prefixItems": [{}], "items": {}}, ("0",)) is None
    assert schema_at({"type": "array", "items": {"type": "string"}}, ("0",)) == {"type": "string"}
    assert schema_at(None, ("a",)) is None
