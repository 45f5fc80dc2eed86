"""Which changes of a shown value keep its form, and how a request lists them."""

import pytest

from coterie.dsl.values import Json, JsonValue
from coterie.workflows.approvals.decisions import changes, form_problem
from coterie.workflows.core.requests import Pending


def problem(show: JsonValue, given: JsonValue, schema: Json | None = None) -> str | None:
    asked = Pending(id="a/s#1", prompt="", show=show, payload_schema=schema, since="-")
    return form_problem(asked, given, "payload")


@pytest.mark.parametrize(
    ("show", "given", "where"),
    [
        (None, {"a": 1}, None),
        ("rain", "sun", None),
        (1, 2.5, None),
        (True, 1, "payload is a number, not a boolean"),
        ("rain", 1, "payload is a number, not a text"),
        ({"a": 1}, {"a": 2}, None),
        ({"a": 1}, {"b": 1}, "payload has the keys b, not a"),
        ({"a": 1, "b": {"c": 1}}, {"a": 2, "b": {"c": "x"}}, "payload.b.c is a text, not a number"),
        ([1], [1, 2, 3], None),
        ([1], [], None),
        ([], ["x", 1], None),
        ([1, "x"], [1, "x"], "payload[1] is a text, not a number"),
        ([{"a": 1}], {"a": 1}, "payload is a mapping, not a list"),
    ],
)
def test_a_change_keeps_the_form_of_the_value_shown(
    show: JsonValue, given: JsonValue, where: str | None
) -> None:
    text = None if where is None else f"{where}; a change must keep the form of the value shown"
    assert problem(show, given) == text


def test_a_schema_alone_decides_where_there_is_one() -> None:
    number: Json = {"type": "number"}
    assert problem("rain", 1, number) is None
    assert problem("rain", "sun", number) == "payload is a text, not a number"
    both: Json = {"properties": {"a": number, "b": number}}
    found = problem(None, {"a": "x", "b": "y"}, both)
    assert found == "payload.a is a text, not a number; payload.b is a text, not a number"


def test_a_schema_that_cannot_be_used_refuses_every_change() -> None:
    found = problem("rain", "sun", {"type": "text"})
    assert found == "payload cannot be checked against its schema: it is no JSON Schema"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (1, 1, ()),
        (1, 2, ("1 -> 2",)),
        (1, True, ("1 -> true",)),
        ({"a": 1, "b": 2}, {"a": 1, "c": 3}, ("b: 2 left out", "c: 3 added")),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 3}]}}, ("a.b[1].c: 2 -> 3",)),
        ({"a": [1]}, {"a": [1, 2]}, ("a: [1] -> [1, 2]",)),
        ([1, 2], [2, 1], ("[0]: 1 -> 2", "[1]: 2 -> 1")),
    ],
)
def test_changes_name_the_path_and_both_values(
    before: JsonValue, after: JsonValue, expected: tuple[str, ...]
) -> None:
    assert changes(before, after) == expected


@pytest.mark.parametrize(
    ("number", "further"), [(20, ()), (21, ("and more",)), (30, ("and more",))]
)
def test_at_most_twenty_changes_are_listed(number: int, further: tuple[str, ...]) -> None:
    before: Json = {f"k{n}": 0 for n in range(number)}
    after: Json = {f"k{n}": 1 for n in range(number)}
    expected = (*(f"k{n}: 0 -> 1" for n in range(20)), *further)
    assert changes(before, after) == expected
