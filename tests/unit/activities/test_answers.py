"""From a model's text to data: found if there is exactly one value, never guessed."""

import pytest
from pydantic import JsonValue

from coterie.activities.answers import AnswerProblem, parse_answer
from coterie.dsl.values import Json

ANY: Json = {}
VERDICT: Json = {
    "type": "object",
    "properties": {"verdict": {"enum": ["yes", "no"]}},
    "required": ["verdict"],
}
YES = {"verdict": "yes"}


def test_without_a_schema_the_data_is_the_text() -> None:
    assert parse_answer("  Hello {world}\n", None) == {"text": "  Hello {world}\n"}


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "yes"}',
        '\ufeff\n {"verdict": "yes"}\n',
        '```json\n{"verdict": "yes"}\n```',
        '```\n{"verdict": "yes"}\n```\nI hope that this helps.',
        'Here it is: {"verdict": "yes"} as you asked.',
        'Of {all} options, [the best]:\n\n```JSON\n{\n  "verdict":\n  "yes"}\n```',
        'As in {a [b] {c}}: {"verdict": "yes"}',
    ],
)
def test_one_value_is_found_in_fences_and_prose(text: str) -> None:
    assert parse_answer(text, VERDICT) == YES


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"code": "a {\\"b\\": 1} c"}', {"code": 'a {"b": 1} c'}),
        ('{"md": "```json\\n{}\\n```"}', {"md": "```json\n{}\n```"}),
        ('Yes: {"code": "if (x) { }"} .', {"code": "if (x) { }"}),
        ('{"text": "first\nsecond\tline"}', {"text": "first\nsecond\tline"}),
        ("[[1], [2]]", [[1], [2]]),
        ("Result:\n```\n42\n```\n", 42),
        ('```json\n"see {a} and [b]"\n```', "see {a} and [b]"),
        ("null", None),
        ("-1.5e3", -1500.0),
        ('"\\ud83d\\ude00"', "😀"),
    ],
)
def test_the_outermost_value_is_taken_whole(text: str, data: JsonValue) -> None:
    assert parse_answer(text, ANY) == data


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the answer is empty"),
        (" \n", "the answer is empty"),
        ("Yes, I think so.", "contains no JSON value"),
        ("The answer is 42.", "contains no JSON value"),
        ("```\n1\n```\n```\n2\n```", "contains no JSON value"),
        ('{"a": 1}{"a": 2}', "contains 2 JSON values; it must contain exactly one"),
        ('First {"verdict": "no"}, no: {"verdict": "yes"}', "contains 2 JSON values"),
        ('As in [1]: {"verdict": "yes"}', "contains 2 JSON values"),
    ],
)
def test_none_and_several_values_are_reported_and_not_guessed(text: str, message: str) -> None:
    assert message in problem(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": {"verdict": "yes"}, oops}',
        '{"steps": [{"verdict": "yes"}, {"verdict": "no"',
        '{"verdict": "yes"',
        '"verdict": {"verdict": "yes"}}',
        '{"a": "}", {"verdict": "yes"} oops}',
        '{"a": \'x"\', "b": {"verdict": "yes"}}',
        '```json\n{"code": "\n```json\n{"verdict": "yes"}\n```\n", oops}\n```',
        'An interval [0, 1) and {"verdict": "yes"}',
    ],
)
def test_the_inside_of_a_broken_value_is_never_taken(text: str) -> None:
    assert problem(text).startswith("the answer is not JSON: ")


def test_a_broken_value_is_reported_with_its_place() -> None:
    assert problem('```json\n{\n  "a": 1\n  "b": 2\n}\n```') == (
        "the answer is not JSON: Expecting ',' delimiter at line 4 column 3, "
        'near \'``json\\n{\\n  "a": 1\\n  "b": 2\\n}\\n```\''
    )


def test_a_bracket_too_many_is_reported_with_its_place() -> None:
    assert problem('Done: {"a": 1}}') == (
        "the answer is not JSON: Unmatched closing bracket at line 1 column 15, "
        "near 'Done: {\"a\": 1}}'"
    )


def test_a_value_is_found_behind_a_thousand_brackets_of_prose_and_no_more() -> None:
    assert parse_answer("[x] " * 1000 + '{"verdict": "yes"}', VERDICT) == YES
    assert problem("[x] " * 1001 + '{"verdict": "yes"}').startswith("the answer is not JSON: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "b": {"a": 2, "a": 3}}', "has the key 'a' twice in one object"),
        ('{"a": NaN}', "contains NaN, which is not a JSON number"),
        ("[-Infinity]", "contains -Infinity, which is not a JSON number"),
        ("So: [1e999]", "contains 1e999, which is not a JSON number"),
        ('{"a": "\\ud800"}', "half of a surrogate pair"),
        ('{"\\udfff": 1}', "half of a surrogate pair"),
        ("[" * 101 + "]" * 101, "nested deeper than 100 levels"),
        ("[" * 200_000, "nested deeper than 100 levels"),
        ("1" * 5000, "Exceeds the limit"),
    ],
)
def test_json_that_not_every_reader_can_read_is_refused(text: str, message: str) -> None:
    assert message in problem(text)


def test_half_a_character_in_a_plain_text_is_refused_too() -> None:
    result = parse_answer("so \ud800", None)
    assert isinstance(result, AnswerProblem)
    assert "half of a surrogate pair" in result.message


def test_a_hundred_levels_are_not_too_deep() -> None:
    text = "[" * 100 + "]" * 100
    assert not isinstance(parse_answer(text, ANY), AnswerProblem)


@pytest.mark.parametrize("text", ["{" * 300_000, "[}" * 100_000, '"' * 300_001, "```x\n" * 100_000])
def test_a_hostile_answer_is_read_once_and_refused(text: str) -> None:
    """Quadratic reading would run into the suite's timeout."""
    assert problem(text)


def problem(text: str, schema: Json = ANY) -> str:
    result = parse_answer(text, schema)
    assert isinstance(result, AnswerProblem), result
    return result.message
