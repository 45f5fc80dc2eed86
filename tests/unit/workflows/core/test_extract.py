"""An answer of any size is cut to what can be read, and nothing is out of reach."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.paths import get, parse
from coterie.workflows.core.extract import Extract, extract, written

KEYS = st.text(st.characters(codec="utf-8"), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    SCALARS, lambda below: st.lists(below) | st.dictionaries(KEYS, below), max_leaves=60
)
SMALL = 600


def size(value: JsonValue) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def is_taken(part: Any) -> bool:
    return isinstance(part, dict) and set(cast("Any", part)) == {"left_out", "path"}


def pages(value: JsonValue, path: tuple[str, ...], most: int) -> list[Extract]:
    found = [extract(value, path, 0, most)]
    while (start := found[-1].next) is not None:
        found.append(extract(value, path, start, most))
    return found


def fetched(root: JsonValue, path: tuple[str, ...]) -> JsonValue:
    """The value as somebody puts it together who asks for every part that was left out."""
    found: Any = get(root, path)
    parts: Any = []
    start = 0
    for page in pages(found, path, SMALL):
        parts.append(completed(root, page.value, path, start))
        start = page.next or 0
    if isinstance(parts[0], str):
        return "".join(parts)
    if isinstance(parts[0], list):
        return [item for part in parts for item in part]
    if isinstance(parts[0], dict):
        return {key: item for part in parts for key, item in part.items()}
    return parts[0]


def completed(root: JsonValue, part: Any, path: tuple[str, ...], start: int = 0) -> Any:
    """A part of a page with what was left out of it."""
    if is_taken(part):
        asked = part["path"]
        assert (parse(asked) if isinstance(asked, str) else tuple(asked)) == path
        return fetched(root, path)
    if isinstance(part, dict):
        items = cast("dict[str, Any]", part).items()
        return {key: completed(root, item, (*path, key)) for key, item in items}
    if isinstance(part, list):
        numbered = enumerate(cast("list[Any]", part), start)
        return [completed(root, item, (*path, str(number))) for number, item in numbered]
    return part


@given(VALUES)
def test_no_page_is_larger_than_it_may_be(value: JsonValue) -> None:
    for page in pages(value, (), SMALL):
        items = page.value if isinstance(page.value, list | dict) else ()
        assert size(page.value) <= SMALL + 100 or len(items) < 2
        assert page.size == size(value)


@given(VALUES.filter(lambda value: not is_taken(value)))
def test_parts_that_were_left_out_make_up_the_whole(value: JsonValue) -> None:
    assert fetched(value, ()) == value


def test_a_small_value_stands_there_as_it_is() -> None:
    value: JsonValue = {"a": [1, {"b": "c"}], "d": None}
    assert extract(value, (), 0) == Extract(value, size(value), True, None)


def test_large_value_is_replaced_by_its_kind_size_and_path() -> None:
    value: JsonValue = {"topic": "rain", "book": "x" * 50_000, "pages": list(range(9_000))}
    part = extract(value, ("context",), 0)
    assert part.value == {
        "topic": "rain",
        "book": {"left_out": "a text of 50,000 characters, 50,002 bytes", "path": "context.book"},
        "pages": {"left_out": "a list of 9000 items, 43,891 bytes", "path": "context.pages"},
    }
    assert (part.whole, part.next) == (False, None)


def test_a_part_is_cut_up_as_long_as_two_hundred_bytes_are_left_for_it() -> None:
    rows: JsonValue = [{"a": "x" * 400, "b": 1} for _ in range(3)]
    whole, short = (extract(rows, (), 0, most).value for most in (600, 597))
    assert [row["b"] for row in cast("Any", whole)] == [1, 1, 1]
    assert all(is_taken(row) for row in cast("Any", short))


def test_a_name_with_a_dot_is_asked_for_by_a_list() -> None:
    part = extract({"a.b": "x" * 50_000}, ("context",), 0)
    assert part.value == {
        "a.b": {"left_out": "a text of 50,000 characters, 50,002 bytes", "path": ["context", "a.b"]}
    }


def test_a_large_text_comes_in_pages_that_join() -> None:
    text = "Größe\u0000" * 9_000
    found = pages(text, ("t",), 24_000)
    assert "".join(str(page.value) for page in found) == text
    assert all(size(page.value) <= 24_000 for page in found)


@pytest.mark.parametrize("path", [("",), ("", ""), ("a[0]",), (".a",), ("a.b", "c"), ("a", "b")])
def test_path_as_written_is_read_back_as_the_same_path(path: tuple[str, ...]) -> None:
    shown = written(path)
    assert (parse(shown) if isinstance(shown, str) else tuple(cast("Any", shown))) == path


@pytest.mark.parametrize("value", [7, True, None])
def test_what_has_no_parts_has_no_second_page(value: JsonValue) -> None:
    assert extract(value, (), 1) == Extract(None, size(value), False, None)


def test_a_number_that_is_too_long_is_left_out_as_a_value() -> None:
    found = extract([10**300, 1], ("n",), 0, 300)
    assert found.value == [{"left_out": "a value, 301 bytes", "path": "n.0"}, 1]


@pytest.mark.parametrize(
    "value", ["x" * SMALL, list(range(SMALL)), {str(n): n for n in range(SMALL)}]
)
def test_a_value_that_does_not_fit_is_never_whole(value: JsonValue) -> None:
    first = extract(value, (), 0, SMALL)
    assert first.next is not None
    assert (first.whole, first.size) == (False, size(value))
    assert not extract(value, (), first.next, SMALL).whole
