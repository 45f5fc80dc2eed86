"""A part of an input counts as whatever its tool function can read from it."""

import pytest
from pydantic import JsonValue

from coterie.dsl.checks.contracts.contract_checks import may_be, may_equal
from coterie.dsl.templates.literal_parts import known_parts

KINDS = ("string", "integer", "number", "boolean", "array", "object", "null")


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ("word", {"string"}),
        ("", {"string"}),
        ("12", {"string", "integer", "number"}),
        (" -1_000.5e3 ", {"string", "integer", "number"}),
        ("1", {"string", "integer", "number", "boolean"}),
        ("Yes", {"string", "boolean"}),
        (".", {"string"}),
        ("1 2", {"string"}),
        ("a{{ x }}", {"string", "boolean"}),
        ("1{{ x }}", {"string", "integer", "number", "boolean"}),
        ("1{{ x }}a", {"string", "boolean"}),
        (True, {"integer", "number", "boolean"}),
        (0, {"integer", "number", "boolean"}),
        (1.0, {"integer", "number", "boolean"}),
        (2, {"integer", "number"}),
        (1.5, {"number"}),
        ([], {"array"}),
        ({}, {"object"}),
        (None, {"null"}),
    ],
)
def test_a_value_may_count_as_each_kind_that_functions_read_it_as(
    given: JsonValue, kinds: set[str]
) -> None:
    part = known_parts(given)
    assert {kind for kind in KINDS if may_be(part, kind)} == kinds


@pytest.mark.parametrize(
    ("given", "word", "fits"),
    [
        (" Json", "JSON", True),
        ("json", "jsonl", False),
        ("1", 1, False),
        ("a{{ x }}c", "ABC", True),
        ("a{{ x }}c", "abcd", False),
        ("a.{{ x }}", "abc", False),
        ("a\n{{ x }}", "a\nb\nc", True),
        ("a{{ x }}", 1, False),
        ("{{ x }}", {"any": 1}, True),
        (["a", 1], ["A", 1], True),
        (["a", 1], ["a", 2], False),
        (["a"], ["a", "b"], False),
        (["a"], "a", False),
        ({"k": "A"}, {"k": "a"}, True),
        ({"k": "a", "l": 1}, {"k": "a", "l": 2}, False),
        ({"k": "a"}, {"k": "a", "l": 2}, False),
        ({"k": "a"}, "k", False),
        (None, None, True),
        (None, False, False),
    ],
)
def test_a_value_may_equal_a_word_in_any_case(
    given: JsonValue, word: JsonValue, fits: bool
) -> None:
    assert may_equal(known_parts(given), word) is fits
