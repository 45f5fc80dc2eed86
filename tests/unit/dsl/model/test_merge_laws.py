"""Deep merge: one rule for personas, overrides and files, and the laws that it keeps."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.model.merge import deep_merge, merged_by
from coterie.dsl.source.nodes import overlaid
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.values import Json
from tests.support.documents.strategies import json_objects, json_values

leaves = st.integers() | st.lists(st.integers(), max_size=2) | st.text("xyz", max_size=2)
alike: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {}, optional={"a": leaves, "b": st.fixed_dictionaries({}, optional={"c": leaves, "d": leaves})}
)
"""Objects in which a key is a mapping everywhere or nowhere, and nothing is null."""


@pytest.mark.parametrize(
    ("base", "override", "merged"),
    [
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}}, {"a": {"b": 1, "c": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"b": 1}}, {"a": 5}, {"a": 5}),
        ({"a": 5}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({}, {"a": None}, {}),
        ({"a": 1}, {"a": False}, {"a": False}),
        ({"a": 1}, {"a": ""}, {"a": ""}),
    ],
)
def test_mappings_recurse_lists_replace_the_override_wins_null_deletes(
    base: Json, override: Json, merged: Json
) -> None:
    assert deep_merge(base, override) == merged


@given(json_objects)
def test_nothing_laid_over_changes_nothing(base: Json) -> None:
    assert deep_merge(base, {}) == base


@given(alike, alike, alike)
def test_the_order_of_merging_does_not_matter(a: Any, b: Any, c: Any) -> None:
    assert deep_merge(deep_merge(a, b), c) == deep_merge(a, deep_merge(b, c))


@given(alike, alike)
def test_merging_twice_is_merging_once(a: Any, b: Any) -> None:
    assert deep_merge(deep_merge(a, b), b) == deep_merge(a, b)


@given(json_objects, json_objects)
def test_neither_side_is_changed_and_nothing_is_shared(base: Json, override: Json) -> None:
    before = copy.deepcopy((base, override))
    merged = deep_merge(base, override)
    scribble(merged)
    assert (base, override) == before


def scribble(value: JsonValue) -> None:
    """Write into everything that can be written into."""
    if isinstance(value, dict):
        for item in value.values():
            scribble(item)
        value["scribbled"] = True
    elif isinstance(value, list):
        for item in value:
            scribble(item)
        value.append("scribbled")


@pytest.mark.parametrize(
    ("policy", "values", "merged"),
    [
        ("replace", [1, 2], 2),
        ("extend", [[1], 2, [3, [4]]], [1, 2, 3, [4]]),
        ("extend", ["a"], ["a"]),
        ("merge", [{"a": 1}, {"b": {"c": 1}}, {"b": {"d": 2}}], {"a": 1, "b": {"c": 1, "d": 2}}),
        ("merge", [{"a": 1}, 5], 5),
    ],
)
def test_several_writers_are_merged_in_written_order(
    policy: Any, values: list[JsonValue], merged: JsonValue
) -> None:
    assert merged_by(policy, values) == merged


@given(st.lists(json_values, min_size=1, max_size=3))
def test_merging_writers_never_changes_what_they_wrote(values: list[JsonValue]) -> None:
    before = copy.deepcopy(values)
    for policy in ("replace", "extend", "merge"):
        merged_by(policy, values)
    assert values == before


def test_documents_are_laid_over_one_another_by_the_same_rule_and_keep_their_places() -> None:
    base = read("a: {x: 1, y: 2}\nl: [1, 2]\nkeep: 1\n", "base.yml")
    over = read("l: [3]\na:\n  y: null\n  z: 3\n", "over.yml")
    merged = overlaid(base, over)
    assert merged.plain() == {"a": {"x": 1, "z": 3}, "l": [3], "keep": 1}
    places = {
        key: merged.find(path).mark
        for key, path in {"x": ("a", "x"), "z": ("a", "z"), "l": ("l",)}.items()
    }
    assert (places["x"].file, places["x"].line) == ("base.yml", 1)
    assert (places["z"].file, places["z"].line) == ("over.yml", 4)
    assert places["l"].file == "over.yml"
