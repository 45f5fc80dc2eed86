"""What is said to be impossible of a value is impossible; and obvious contradictions are seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.evaluate.operator_table import OPERATORS, Found
from coterie.dsl.logic.claims import Claim, possible
from coterie.dsl.model.conditions import Operator
from coterie.dsl.paths import MISSING

VALUES: list[JsonValue] = [
    None,
    True,
    False,
    0,
    1,
    2,
    3,
    1.5,
    -1,
    "",
    "a",
    "ab",
    "abc",
    "b",
    "ba",
    "1",
    [],
    [1],
    ["a"],
    ["a", "b"],
    [None],
    {},
    {"a": 1},
    {"a": 1, "b": []},
]
FOUND: list[Found] = [MISSING, *VALUES]
TEXTS = ["", "a", "ab", "b", "abc"]
LISTS: list[JsonValue] = [[], ["a"], ["a", "b"], [1, 2], [None, False], ["ab", 1]]
RANGES: list[JsonValue] = [[0, 2], [1, 1], [None, 1], [2, None], [None, None], [3, 1]]
TYPES: list[JsonValue] = ["string", "number", "integer", "boolean", "list", "mapping", "null"]
WORTH: dict[str, list[JsonValue]] = {
    "equals": VALUES,
    "not_equals": VALUES,
    "contains": VALUES,
    "contains_any": LISTS,
    "contains_all": LISTS,
    "exists": [None, True, False],
    "is_empty": [None, True, False],
    "is_null": [None, True, False],
    "starts_with": list(TEXTS),
    "ends_with": list(TEXTS),
    "matches": ["^a", "b$", "[0-9]"],
    "in": [*LISTS, "abc", {"a": 1}],
    "in_range": RANGES,
    "is_type": TYPES,
    "has_length": [0, 1, 2, 3],
    "min_length": [0, 1, 2, 3],
    "max_length": [0, 1, 2, 3],
}
NUMBERS_AND_TEXTS: list[JsonValue] = [0, 1, 1.5, 2, "", "a", "ab"]


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    operator: Operator = draw(st.sampled_from(sorted(OPERATORS)))
    value = draw(st.sampled_from(WORTH.get(operator, NUMBERS_AND_TEXTS)))
    return Claim(operator, value, draw(st.booleans()))


def test_every_operator_is_tried() -> None:
    ordered = {"greater_than", "less_than", "greater_or_equal", "less_or_equal"}
    assert set(WORTH) | ordered == set(OPERATORS)


@given(st.lists(claims(), min_size=1, max_size=5), st.sampled_from(FOUND))
def test_condition_that_some_value_meets_is_possible(some: list[Claim], found: Found) -> None:
    """Each claim is turned so that the value meets it: then all of them can be met."""
    met = [Claim(c.operator, c.value, OPERATORS[c.operator].test(found, c.value)) for c in some]
    assert possible(met)


@given(st.lists(claims(), min_size=1, max_size=3))
def test_impossible_condition_is_met_by_no_value(some: list[Claim]) -> None:
    if not possible(some):
        assert not [found for found in FOUND if all(claim.fits(found) for claim in some)]


def is_(operator: Operator, value: JsonValue = None) -> Claim:
    return Claim(operator, value)


def not_(operator: Operator, value: JsonValue = None) -> Claim:
    return Claim(operator, value, holds=False)


@pytest.mark.parametrize(
    "some",
    [
        [is_("equals", 1), is_("equals", 2)],
        [is_("equals", 1), is_("equals", True)],
        [is_("equals", "a"), not_("equals", "a")],
        [is_("equals", "a"), is_("not_equals", "a")],
        [is_("equals", "FAIL"), is_("in", ["PASS", "SKIP"])],
        [is_("in", ["a", "b"]), is_("in", ["c"])],
        [is_("in", ["a", "b"]), not_("equals", "a"), not_("equals", "b")],
        [is_("greater_than", 3), is_("less_than", 3)],
        [is_("greater_than", 3), is_("less_or_equal", 3)],
        [is_("greater_or_equal", 3), is_("less_or_equal", 3), is_("not_equals", 3)],
        [is_("greater_than", 3), is_("equals", 2)],
        [is_("in_range", [1, 5]), is_("greater_than", 5)],
        [is_("in_range", [1, 5]), is_("less_than", 1)],
        [is_("in_range", [1, 5]), is_("less_or_equal", 0)],
        [is_("in_range", [1, 3]), is_("in_range", [4, 5])],
        [is_("in_range", [None, 5]), is_("greater_than", 5)],
        [is_("in_range", [1, None]), is_("less_than", 1)],
        [is_("in_range", [2, 3]), not_("in_range", [1, 5])],
        [is_("in_range", [1, 5]), not_("in_range", [1, 5])],
        [is_("greater_or_equal", 2), is_("less_or_equal", 3), not_("in_range", [2, 3])],
        [is_("greater_than", 3), is_("starts_with", "a")],
        [is_("greater_than", 3), not_("greater_than", 2)],
        [is_("greater_than", "b"), is_("less_than", "a")],
        [is_("exists"), is_("exists", False)],
        [is_("exists", False), is_("equals", 1)],
        [is_("is_empty"), is_("min_length", 1)],
        [is_("is_empty", False), is_("max_length", 0)],
        [is_("is_null"), is_("contains", "a")],
        [is_("is_type", "string"), is_("is_type", "list")],
        [is_("is_type", "boolean"), not_("equals", True), not_("equals", False)],
        [is_("is_type", "integer"), not_("is_type", "number")],
        [is_("has_length", 2), is_("has_length", 3)],
        [is_("min_length", 4), is_("max_length", 3)],
        [is_("has_length", 2), not_("min_length", 1)],
        [is_("contains", "a"), not_("contains_any", ["a", "b"])],
        [is_("contains_all", ["a", "b"]), not_("contains", "b")],
        [is_("contains_any", ["a", "b"]), not_("contains", "a"), not_("contains", "b")],
        [is_("contains_any", [])],
        [not_("contains_all", []), is_("exists")],
        [is_("starts_with", "ab"), is_("starts_with", "b")],
        [is_("starts_with", "ab"), not_("starts_with", "a")],
        [is_("ends_with", "ing"), not_("contains", "in")],
        [is_("starts_with", "ab"), not_("contains", "b")],
        [is_("ends_with", "ing"), not_("ends_with", "ng")],
        [is_("ends_with", "ing"), is_("ends_with", "in")],
        [is_("matches", "^a"), not_("matches", "^a")],
    ],
)
def test_a_contradiction_is_seen(some: list[Claim]) -> None:
    assert not possible(some)
    assert not possible(list(reversed(some)))


@pytest.mark.parametrize(
    "some",
    [
        [not_("equals", 1), not_("equals", 2)],
        [is_("greater_or_equal", 3), is_("less_or_equal", 3)],
        [is_("greater_than", 3), is_("less_than", 4)],
        [not_("greater_than", 3), not_("less_than", 3)],
        [not_("greater_than", 3), not_("less_or_equal", 3)],
        [is_("in_range", [1, 5]), not_("in_range", [2, 3])],
        [is_("in_range", [1, 5]), not_("in_range", [1, 4])],
        [is_("in_range", [1, 5]), not_("in_range", [2, 5])],
        [is_("in_range", [1, 5]), is_("less_or_equal", 1)],
        [is_("in_range", [1, 5]), is_("greater_or_equal", 5)],
        [is_("in_range", [1, 5]), is_("in_range", [5, 6])],
        [is_("greater_or_equal", 2), not_("in_range", [2, 3])],
        [is_("less_or_equal", 3), not_("in_range", [2, 3])],
        [is_("in_range", [1, 5]), is_("less_than", 2)],
        [is_("in_range", [1, 5]), is_("greater_than", 4)],
        [is_("in_range", [None, 5]), is_("less_than", -9)],
        [is_("in_range", [1, None]), is_("greater_than", 99)],
        [is_("is_empty"), not_("is_null")],
        [is_("starts_with", "a"), is_("starts_with", "ab"), is_("ends_with", "b")],
        [is_("contains", "a"), is_("contains", "b"), is_("max_length", 2)],
        [is_("is_type", "number"), not_("is_type", "integer")],
        [is_("exists"), is_("is_null")],
        [is_("not_equals", "a"), is_("is_empty")],
    ],
)
def test_apparent_contradiction_is_not_reported(some: list[Claim]) -> None:
    assert possible(some)


@pytest.mark.parametrize(
    "some",
    [
        [is_("starts_with", "ab"), not_("contains", "c")],
        [is_("ends_with", "ab"), not_("contains", "c")],
        [is_("starts_with", "ab"), is_("starts_with", "a")],
        [is_("ends_with", "ing"), is_("ends_with", "g")],
        [is_("starts_with", "ab"), is_("ends_with", "c"), not_("starts_with", "c")],
        [is_("starts_with", "ab"), not_("ends_with", "ab"), not_("starts_with", "abc")],
        [is_("contains_any", ["a", "b"]), not_("contains", "a")],
        [is_("contains", "a"), not_("contains_all", ["a", "b"])],
        [is_("min_length", 3), is_("max_length", 3)],
        [is_("min_length", 2), is_("max_length", 3), not_("has_length", 2)],
        [is_("is_empty", False), is_("max_length", 1)],
    ],
)
def test_what_only_resembles_a_contradiction_is_possible(some: list[Claim]) -> None:
    assert possible(some)
    assert possible(list(reversed(some)))
