"""Extract: a value of any size as an answer that people and the `temporal` CLI can read in full.

A part that is too large appears as its kind, its size and its path; a single value that is too
large is split into pages. Pure.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.paths import parse

MAX_ANSWER_SIZE = 24_000
"""Bytes of JSON: well below the size at which payloads are stored outside the history."""

_MIN_PART_SIZE = 200
"""Bytes below which a part appears as its size instead of being cut up further."""
_SMALL = 20
"""A page includes parts below this fraction of its size in full."""
_SIZE_NOTE_BYTES = 120
"""Bytes that the size of a part takes, without its path."""

Path = tuple[str, ...]


class Extract(NamedTuple):
    """A part of a value."""

    value: JsonValue
    size: int
    """Bytes of the whole, as JSON."""
    whole: bool
    next: int | None
    """Where the next page begins; None when there is none."""


def extract(value: JsonValue, path: Path, start: int, maximum: int = MAX_ANSWER_SIZE) -> Extract:
    """Return as much of the value as fits, starting with character, item or key `start`."""
    size = _size(value)
    if size <= maximum and start == 0:
        return Extract(value, size, True, None)
    if isinstance(value, str):
        return _of_text(value, size, start, maximum)
    if isinstance(value, dict):
        kept_items, end = _of_items(list(value.items()), path, start, maximum)
        return Extract(dict(kept_items), size, False, end)
    if isinstance(value, list):
        named = [(str(number), item) for number, item in enumerate(value)]
        kept_items, end = _of_items(named, path, start, maximum)
        return Extract([item for _, item in kept_items], size, False, end)
    return Extract(None, size, False, None)  # after the end of what has no parts


def _of_text(text: str, size: int, start: int, maximum: int) -> Extract:
    length = maximum
    while _size(text[start : start + length]) > maximum:
        length //= 2
    end = start + length
    return Extract(text[start:end], size, False, end if end < len(text) else None)


def _of_items(
    items: Sequence[tuple[str, JsonValue]], path: Path, start: int, maximum: int
) -> tuple[list[tuple[str, JsonValue]], int | None]:
    """Return the items of a page; each appears at least as its size."""
    page: list[tuple[str, JsonValue]] = []
    sizes: list[int] = []
    needed = 0
    for key, item in items[start:]:
        size = _size(item)
        needed += len(_bytes(key)) + min(size, max(_size_text(path, key), maximum // _SMALL))
        if needed > maximum and page:
            break
        page.append((key, item))
        sizes.append(size + len(_bytes(key)))
    end = start + len(page)
    share = _share(sizes, maximum)
    kept_items = [
        (key, item if size <= share else _smaller(item, (*path, key), share))
        for (key, item), size in zip(page, sizes, strict=True)
    ]
    return kept_items, end if end < len(items) else None


def _size_text(path: Path, key: str) -> int:
    return _SIZE_NOTE_BYTES + len(_bytes([*path, key]))


def _share(sizes: Sequence[int], maximum: int) -> int:
    """Return how much each large part may take, after the small ones have taken what they need."""
    remaining, share = maximum, maximum
    for count, size in enumerate(sorted(sizes)):
        share = remaining // (len(sizes) - count)
        if size > share:
            break
        remaining -= size
    return share


def _smaller(value: JsonValue, path: Path, maximum: int) -> JsonValue:
    """Return the value, with its large parts replaced by their size."""
    if maximum >= _MIN_PART_SIZE and isinstance(value, dict | list) and value:
        part = extract(value, path, 0, maximum)
        if part.next is None and _size(part.value) <= maximum:
            return part.value
    return {"left_out": f"{_kind(value)}, {_size(value):,} bytes", "path": written(path)}


def _kind(value: JsonValue) -> str:
    match value:
        case dict():
            return f"an object with {len(value)} keys"
        case list():
            return f"a list of {len(value)} items"
        case str():
            return f"a text of {len(value):,} characters"
        case _:
            return "a value"


def written(path: Path) -> JsonValue:
    """Return the path as queries take it: dotted, or a list where the dotted text is ambiguous."""
    dotted = ".".join(path)
    return dotted if dotted and parse(dotted) == path else list(path)


def _size(value: JsonValue) -> int:
    return len(_bytes(value))


def _bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
