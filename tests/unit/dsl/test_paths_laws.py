"""The laws of dotted paths: what is put is found, the rest stays, the tree is never changed."""

import copy
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.paths import MISSING, get, overlap, parse, put
from coterie.dsl.values import Json
from tests.support.documents.strategies import identifiers, json_objects, json_values

paths = st.lists(identifiers, min_size=1, max_size=4).map(tuple)


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("", ()),
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ("a[0]", ("a", "0")),
        ("a[0].b[12].c", ("a", "0", "b", "12", "c")),
        ("[0].a", ("0", "a")),
        ("a.0", ("a", "0")),
        ("a[x]", ("a[x]",)),
    ],
)
def test_a_path_is_read_once_into_segments(text: str, segments: tuple[str, ...]) -> None:
    assert parse(text) == segments


TREE: Json = {"a": {"b": [1, {"c": None}]}, "0": "zero", "t": "text", "": {"": 1}}


@pytest.mark.parametrize(
    ("path", "found"),
    [("a.b[1].c", None), ("a.b.0", 1), ("0", "zero"), ("a.b", [1, {"c": None}]), ("", TREE)],
)
def test_path_finds_a_value_even_when_it_is_null(path: str, found: JsonValue) -> None:
    assert get(TREE, parse(path)) == found


@pytest.mark.parametrize(
    "path",
    [
        "b",
        "a.x",
        "a.b.2",
        "a.b.-1",
        "a.b.x",
        "a.b.0.c",
        "t.0",
        "t.upper",
        "a.b[1].c.d",
        "a.keys",
        "a..b",
    ],
)
def test_path_to_nothing_is_missing_and_not_an_error(path: str) -> None:
    assert get(TREE, parse(path)) is MISSING


def puttable(tree: Json, path: tuple[str, ...]) -> bool:
    value: JsonValue = tree
    for segment in path[:-1]:
        value = cast("Json", value).get(segment, {})
        if not isinstance(value, dict):
            return False
    return True


@given(json_objects, paths, json_values)
def test_path_finds_what_was_put_there(tree: Json, path: tuple[str, ...], value: JsonValue) -> None:
    if puttable(tree, path):
        assert get(put(tree, path, value), path) == value


@given(json_objects, paths, json_values)
def test_putting_what_is_there_changes_nothing(
    tree: Json, path: tuple[str, ...], value: JsonValue
) -> None:
    if puttable(tree, path):
        once = put(tree, path, value)
        assert put(once, path, value) == once
        assert put(once, path, get(once, path)) == once  # type: ignore[arg-type]  # it is there


@given(json_objects, paths, json_values, json_values)
def test_the_last_one_put_wins(
    tree: Json, path: tuple[str, ...], first: JsonValue, second: JsonValue
) -> None:
    if puttable(tree, path):
        assert put(put(tree, path, first), path, second) == put(tree, path, second)


@given(json_objects, paths, paths, json_values)
def test_nothing_beside_the_path_changes(
    tree: Json, path: tuple[str, ...], other: tuple[str, ...], value: JsonValue
) -> None:
    apart = path[: len(other)] != other and other[: len(path)] != path
    if puttable(tree, path) and apart:
        assert get(put(tree, path, value), other) == get(tree, other)


@given(json_objects, paths, json_values)
def test_a_tree_is_never_changed(tree: Json, path: tuple[str, ...], value: JsonValue) -> None:
    before = copy.deepcopy(tree)
    if puttable(tree, path):
        put(tree, path, value)
    else:
        with pytest.raises(ValueError, match="not a mapping"):
            put(tree, path, value)
    assert tree == before


@given(json_values, st.text(max_size=12) | st.sampled_from(["²", "٣", "9" * 5000, "a.²", "0x1"]))
def test_any_text_is_a_path_that_is_followed_without_failing(value: JsonValue, text: str) -> None:
    for tree in (value, [value], {"a": [value]}):
        get(tree, parse(text))


def test_a_path_to_write_to_has_a_segment() -> None:
    with pytest.raises(ValueError, match="at least one segment"):
        put({}, (), 1)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a", "a", True),
        ("a", "a.b.c", True),
        ("a.b.c", "a", True),
        ("a.b", "a.c", False),
        ("a.b.c", "a.c", False),
        ("a", "b", False),
    ],
)
def test_paths_overlap_where_one_contains_the_other(one: str, other: str, expected: bool) -> None:
    assert overlap(parse(one), parse(other)) is expected
