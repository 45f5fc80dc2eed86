"""Whatever JSON a model answers with, it arrives as it was, in whatever it is wrapped."""

import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.activities.answers import AnswerProblem, parse_answer
from coterie.dsl.values import Json

SCHEMA: Json = {"anyOf": [{"type": ["object", "array"]}, {"not": {"type": ["object", "array"]}}]}

texts = st.text(st.characters(codec="utf-8"), max_size=30)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
values: st.SearchStrategy[JsonValue] = st.recursive(
    scalars, lambda below: st.lists(below, max_size=4) | st.dictionaries(texts, below, max_size=4)
)
containers = values.filter(lambda value: isinstance(value, dict | list))
prose = st.text(st.characters(codec="utf-8", exclude_characters='[]{}"`'), max_size=40)


@given(value=values, indent=st.none() | st.integers(0, 4), ascii=st.booleans())
def test_any_value_survives_a_fence(value: JsonValue, indent: int | None, ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)
    for wrapped in (text, f"```json\n{text}\n```", f"Here:\n\n```\n{text}\n```\nDone."):
        assert parse_answer(wrapped, SCHEMA) == value


@given(value=containers, before=prose, after=prose)
def test_any_object_or_list_survives_prose(value: JsonValue, before: str, after: str) -> None:
    assert parse_answer(f"{before}\n{json.dumps(value)}\n{after}", SCHEMA) == value


@given(value=containers, cut=st.integers(min_value=1))
def test_no_cut_object_or_list_is_taken_for_a_whole_one(value: JsonValue, cut: int) -> None:
    text = json.dumps(value)
    result = parse_answer(text[: 1 + cut % (len(text) - 1)], SCHEMA)
    assert isinstance(result, AnswerProblem)


@given(one=containers, two=containers, between=prose)
def test_between_two_values_none_is_chosen(one: JsonValue, two: JsonValue, between: str) -> None:
    result = parse_answer(f"{json.dumps(one)}\n{between}\n{json.dumps(two)}", SCHEMA)
    assert isinstance(result, AnswerProblem)


@given(text=st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    parse_answer(text, SCHEMA)
    parse_answer(text, None)
