"""The table of operators in docs/routing.md, cell by cell, against the operators themselves."""

from itertools import product

import pytest
from pydantic import JsonValue

from coterie.dsl.evaluate.operator_table import (
    OPERATORS,
    SHORT_NAMES,
    TYPE_NAMES,
    WITHOUT_VALUE,
    charge,
    wrong_value,
)
from coterie.dsl.model.conditions import Operator
from coterie.dsl.model.evaluation_budget import EvaluationMeter
from coterie.dsl.paths import MISSING
from tests.law.documents.pages import chapters, quoted, rows

CHAPTER = chapters("routing.md")["Operators"]
TABLE = {
    quoted(row["operator"])[0]: row
    for row in rows(CHAPTER)
    if "operator" in row and "missing" in row
}
FOUND: dict[str, tuple[JsonValue, ...]] = {
    "string": ("", "a", "ab", "2", "b.py"),
    "number": (0, 1, 2, 2.5, -1),
    "boolean": (True, False),
    "list": ([], ["a"], [1, 2], [[1]], [None]),
    "mapping": ({}, {"a": 1}, {"a": None, "ab": 2}),
    "null": (None,),
}
"""What may be found, by its type."""

OF_KIND: dict[str, tuple[JsonValue, ...]] = {
    "string": ("a", "b", "ab", "[a-z]"),
    "number": (0, 1, 2, 2.5),
    "list": (["a"], [1, 2], [None], [True, {"a": 1}, 0, 2.5], [[1, 2], {}]),
    "mapping": ({"a": 1}, {"ab": 2, "2": 0}),
    "flag": (True,),
    "range": ([0, 2], [None, 1], [1, None]),
    "length": (0, 1, 2),
    "type": TYPE_NAMES,
    "any": (None, "a", "ab", 1, 2, 2.5, True, False, ["a"], [1, 2], [], {}, {"a": 1}, [[1]]),
}
"""Values that operators are held against, by the words of the column `value`."""

OF_NO_KIND: dict[str, tuple[JsonValue, ...]] = {
    "string": (1, None, True, ["a"], {}),
    "number": (None, True, [1], {}),
    "list": (1, None, True),
    "mapping": (1, None, True),
    "flag": (1, "true", [], {}),
    "range": ([1], [1, 2, 3], ["a", "b"], 5, "1-5", {}, None),
    "length": (-1, 1.5, "2", None, True, [2]),
    "type": ("text", "int", 1, None, ["string"]),
    "any": (),
}
"""Values that are of the wrong kind."""


def kinds(operator: Operator) -> list[str]:
    return TABLE[operator]["`value`"].split(", ")


def values(operator: Operator) -> list[JsonValue]:
    """Every value of the kinds that the table says."""
    return [value for kind in kinds(operator) for value in OF_KIND[kind]]


def holds_for(operator: Operator, found: str) -> bool:
    """Whether some value of a type can satisfy the operator."""
    pairs = product(FOUND[found], values(operator))
    return any(OPERATORS[operator].test(one, value) for one, value in pairs)


def test_every_operator_has_one_row() -> None:
    assert sorted(TABLE) == sorted(OPERATORS)
    assert len([row for row in rows(CHAPTER) if "missing" in row]) == len(TABLE)


@pytest.mark.parametrize("operator", OPERATORS)
def test_short_names_of_an_operator_are_those_that_are_read(operator: Operator) -> None:
    short = [name for name, full in SHORT_NAMES.items() if full == operator]
    assert sorted(quoted(TABLE[operator]["short"])) == sorted(short)


@pytest.mark.parametrize("operator", OPERATORS)
def test_value_of_an_operator_has_the_kinds_of_its_row(operator: Operator) -> None:
    assert [value for value in values(operator) if wrong_value(operator, value)] == []
    foreign = [set(map(repr, OF_NO_KIND[kind])) for kind in kinds(operator)]
    wrong = set[str].intersection(*foreign)
    every = (value for some in OF_NO_KIND.values() for value in some)
    accepted = [v for v in every if repr(v) in wrong and wrong_value(operator, v) is None]
    assert accepted == []
    assert wrong or kinds(operator) == ["any"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_operator_holds_only_for_the_types_of_its_row(operator: Operator) -> None:
    cell = TABLE[operator]["for"]
    said = set(FOUND) if cell == "any" else set(cell.split(", "))
    assert {found for found in FOUND if holds_for(operator, found)} == said


@pytest.mark.parametrize("operator", OPERATORS)
def test_operator_holds_for_no_value_of_another_type(operator: Operator) -> None:
    row = TABLE[operator]
    assert row["other types"] == ("-" if row["for"] == "any" else "no")
    said = set(FOUND) if row["for"] == "any" else set(row["for"].split(", "))
    others = [one for found in FOUND if found not in said for one in FOUND[found]]
    assert not any(
        OPERATORS[operator].test(one, value) for one, value in product(others, values(operator))
    )


@pytest.mark.parametrize("operator", OPERATORS)
def test_operator_treats_a_missing_value_as_its_row_says(operator: Operator) -> None:
    expected = {"yes": True, "no": False}[TABLE[operator]["missing"]]
    assert {OPERATORS[operator].test(MISSING, value) for value in values(operator)} == {expected}


def test_false_negates_an_operator_for_a_missing_value_too() -> None:
    flagged: list[Operator] = [name for name in OPERATORS if kinds(name) == ["flag"]]
    assert sorted(flagged) == sorted(WITHOUT_VALUE)
    every = [MISSING, *(one for some in FOUND.values() for one in some)]
    for operator, found in product(flagged, every):
        test = OPERATORS[operator].test
        assert test(found, None) is test(found, True) is not test(found, False)


def test_operators_never_compare_numbers_with_strings() -> None:
    assert "neither less nor greater" in CHAPTER.replace("\n", " ")
    ordered: list[Operator] = [name for name in OPERATORS if kinds(name) == ["number", "string"]]
    assert len(ordered) == 4
    for operator in ordered:
        mixed = [
            *product(FOUND["string"], OF_KIND["number"]),
            *product(FOUND["number"], OF_KIND["string"]),
        ]
        assert not any(OPERATORS[operator].test(found, value) for found, value in mixed)


def test_contains_all_of_an_empty_list_holds_for_any_existing_value() -> None:
    every = [one for some in FOUND.values() for one in some]
    assert all(OPERATORS["contains_all"].test(found, []) for found in every)
    assert not OPERATORS["contains_all"].test(MISSING, [])


def test_the_types_are_those_of_is_type() -> None:
    (named,) = [row["is"] for row in rows(CHAPTER) if row.get("kind of `value`") == "type"]
    assert tuple(quoted(named.partition(";")[0])) == TYPE_NAMES


@pytest.mark.parametrize("name", OPERATORS)
def test_a_test_of_small_values_costs_two_steps(name: Operator) -> None:
    meter = EvaluationMeter()
    before = meter.steps_left
    charge(name, meter, "abcd", 1)
    assert before - meter.steps_left == 2
