"""Every operator on what is there, on what is missing, on null and on the wrong type."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.dsl.evaluate.operator_table import OPERATORS, SHORT_NAMES, wrong_value
from coterie.dsl.json_values import json_equal
from coterie.dsl.model.conditions import Operator
from coterie.dsl.paths import MISSING
from tests.support.documents.strategies import json_values

Row = tuple[Operator, Any, Any, bool]
ROWS: list[Row] = [
    ("equals", "FAIL", "FAIL", True),
    ("equals", 1, 1.0, True),
    ("equals", True, 1, False),
    ("equals", {"a": [1]}, {"a": [1.0]}, True),
    ("equals", {"a": [True]}, {"a": [1]}, False),
    ("equals", None, None, True),
    ("equals", MISSING, None, False),
    ("not_equals", "FAIL", "PASS", True),
    ("not_equals", "FAIL", "FAIL", False),
    ("not_equals", MISSING, "FAIL", True),
    ("contains", "a text", "tex", True),
    ("contains", "a text", 1, False),
    ("contains", [1, 2], 2.0, True),
    ("contains", [True], 1, False),
    ("contains", {"key": 1}, "key", True),
    ("contains", 12, 1, False),
    ("contains", MISSING, "a", False),
    ("contains", None, "a", False),
    ("contains_any", ["a"], ["b", "a"], True),
    ("contains_any", ["a"], ["b"], False),
    ("contains_any", MISSING, ["b"], False),
    ("contains_all", ["a", "b"], ["b", "a"], True),
    ("contains_all", ["a"], ["b", "a"], False),
    ("contains_all", MISSING, [], False),
    ("greater_than", 2, 1, True),
    ("greater_than", 1, 1, False),
    ("greater_than", "b", "a", True),
    ("greater_than", "2", 1, False),
    ("greater_than", True, 0, False),
    ("greater_than", MISSING, 0, False),
    ("greater_than", None, 0, False),
    ("less_than", 1, 1.5, True),
    ("less_than", 2, 1, False),
    ("less_than", 1, 1, False),
    ("less_than", [1], 2, False),
    ("greater_or_equal", 1, 1, True),
    ("greater_or_equal", 2, 1, True),
    ("greater_or_equal", 0, 1, False),
    ("less_or_equal", 1, 1, True),
    ("less_or_equal", 0, 1, True),
    ("less_or_equal", 2, 1, False),
    ("exists", None, None, True),
    ("exists", 0, True, True),
    ("exists", MISSING, None, False),
    ("exists", MISSING, False, True),
    ("exists", 1, False, False),
    ("is_empty", "", None, True),
    ("is_empty", [], None, True),
    ("is_empty", {}, None, True),
    ("is_empty", None, None, True),
    ("is_empty", MISSING, None, True),
    ("is_empty", 0, None, False),
    ("is_empty", False, None, False),
    ("is_empty", "a", False, True),
    ("is_null", None, None, True),
    ("is_null", MISSING, None, True),
    ("is_null", "", None, False),
    ("is_null", "", False, True),
    ("starts_with", "abc", "ab", True),
    ("starts_with", ["ab"], "ab", False),
    ("starts_with", MISSING, "", False),
    ("ends_with", "abc", "bc", True),
    ("ends_with", 12, "2", False),
    ("matches", "build 12 failed", r"\d+ failed$", True),
    ("matches", "passed", "failed", False),
    ("matches", 12, "1", False),
    ("matches", "a", "(", False),
    ("matches", MISSING, ".*", False),
    ("in", "a", ["a", "b"], True),
    ("in", 1, [1.0], True),
    ("in", "c", ["a", "b"], False),
    ("in", MISSING, ["a"], False),
    ("in", "a", "abc", True),
    ("in_range", 5, [1, 10], True),
    ("in_range", 1, [1, 10], True),
    ("in_range", 10, [1, 10], True),
    ("in_range", 11, [1, 10], False),
    ("in_range", 5, [None, 10], True),
    ("in_range", 5, [6, None], False),
    ("in_range", "5", [1, 10], False),
    ("in_range", MISSING, [None, None], False),
    ("is_type", "a", "string", True),
    ("is_type", 1, "integer", True),
    ("is_type", 1, "number", True),
    ("is_type", 1.5, "integer", False),
    ("is_type", 2.0, "integer", True),
    ("is_type", True, "integer", False),
    ("is_type", True, "boolean", True),
    ("is_type", [], "list", True),
    ("is_type", {}, "mapping", True),
    ("is_type", None, "null", True),
    ("is_type", MISSING, "null", False),
    ("has_length", "abc", 3, True),
    ("has_length", [1], 2, False),
    ("has_length", 3, 3, False),
    ("min_length", [1, 2], 2, True),
    ("min_length", "", 1, False),
    ("max_length", {"a": 1}, 1, True),
    ("max_length", MISSING, 10, False),
]


@pytest.mark.parametrize(("operator", "found", "value", "holds"), ROWS)
def test_an_operator(operator: Operator, found: Any, value: Any, holds: bool) -> None:
    assert OPERATORS[operator].test(found, value) is holds


def test_the_table_has_a_row_of_each_outcome_for_every_operator() -> None:
    for operator in OPERATORS:
        outcomes = {holds for name, _, _, holds in ROWS if name == operator}
        assert outcomes == {True, False}, operator


@given(st.sampled_from(sorted(OPERATORS)), json_values | st.just(MISSING), json_values)
def test_no_operator_raises_whatever_it_is_given(
    operator: Operator, found: Any, value: Any
) -> None:
    assert OPERATORS[operator].test(found, value) in (True, False)


@given(json_values, json_values)
def test_equality_is_symmetric(left: Any, right: Any) -> None:
    assert json_equal(left, right) == json_equal(right, left)
    assert json_equal(left, left)


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        ("greater_than", [1]),
        ("less_than", None),
        ("starts_with", 1),
        ("matches", ["a"]),
        ("in", 5),
        ("in_range", [1]),
        ("in_range", ["a", "b"]),
        ("is_type", "text"),
        ("has_length", -1),
        ("min_length", True),
        ("exists", "yes"),
        ("contains_any", "a"),
    ],
)
def test_a_value_with_which_an_operator_can_never_hold_is_reported(
    operator: Operator, value: Any
) -> None:
    assert wrong_value(operator, value)


def test_every_short_name_means_an_operator() -> None:
    assert set(SHORT_NAMES.values()) <= set(OPERATORS)
    assert {"eq", "ne", "gt", "lt", "ge", "le"} <= set(SHORT_NAMES)
