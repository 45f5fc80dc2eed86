"""JSON that parsers read differently, and values that JSON or UTF-8 cannot carry, are refused."""

import pytest

from coterie.dsl.strict_json import JsonRefused, read_json, unsound_part
from coterie.dsl.values import JsonValue

NAN, INFINITE = float("nan"), float("inf")

UNSOUND: list[tuple[JsonValue, str | None]] = [
    ({"a": {"b": [1, NAN]}}, "'a.b.1' is not a JSON number (NaN or infinite)"),
    ({"a": -INFINITE}, "'a' is not a JSON number (NaN or infinite)"),
    ([[0.5], {"x": INFINITE}], "'1.x' is not a JSON number (NaN or infinite)"),
    (NAN, "it is not a JSON number (NaN or infinite)"),
    (["ok", "\udcff"], "'1' contains half of a surrogate pair, which is not a character"),
    ({"a": {"\ud800": 1}}, "'a' has a key with half of a surrogate pair, which is not a character"),
    ({"a": [1e308, 0, "NaN", None, True, {}, "ä😀"]}, None),
]


@pytest.mark.parametrize(("value", "said"), UNSOUND)
def test_unsound_part_names_the_first_part_that_cannot_travel(
    value: JsonValue, said: str | None
) -> None:
    found = unsound_part(value)
    assert (None if found is None else str(found)) == said


REFUSED = {
    '{"a": 1, "a": 2}': "it has the key 'a' twice in one object",
    '[{"b": {"a": 1, "b": 0, "a": 1}}]': "it has the key 'a' twice in one object",
    '{"a": {"b": NaN}}': "'a.b' is not a JSON number (NaN or infinite)",
    '{"a": -Infinity}': "'a' is not a JSON number (NaN or infinite)",
    '{"a": [1e400]}': "'a.0' is not a JSON number (NaN or infinite)",
    '"\\ud800"': "it contains half of a surrogate pair, which is not a character",
    '{"\\udfff": 1}': "it has a key with half of a surrogate pair, which is not a character",
    "[" * 101 + "]" * 101: "it is nested deeper than the 100 levels that are allowed",
    "[" * 100_000: "it is nested deeper than the 100 levels that are allowed",
    "1" * 5_000: f"{'1' * 40}... has too many digits",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_read_json_refuses_what_parsers_read_differently(text: str) -> None:
    with pytest.raises(JsonRefused) as refused:
        read_json(text)
    assert str(refused.value) == REFUSED[text]


@pytest.mark.parametrize("text", ["", "{", "a", '{"a": 1,}', b"\xff", "1 2"])
def test_read_json_refuses_what_is_no_json(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the parser's own words
        read_json(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, "b": {"a": 2.5}}', {"a": 1, "b": {"a": 2.5}}),
        ('"\\ud83d\\ude00"', "😀"),
        (b'["\xc3\xa4"]', ["ä"]),
        ("[" * 100 + "]" * 100, None),
    ],
)
def test_read_json_returns_any_other_value(text: str | bytes, value: JsonValue) -> None:
    assert read_json(text) == value or value is None
