"""What a person changed in a value, in words for people. Pure functions."""

from collections.abc import Iterator

from pydantic import JsonValue

from coterie.dsl.json_schema.keyword_check import excerpt
from coterie.dsl.json_values import describe_kind

MAX_CHANGES = 20
"""Maximum changes that a request lists; the decision's payload has the whole value."""


def changes(before: JsonValue, after: JsonValue) -> tuple[str, ...]:
    """Return the differences, as `pages: 3 -> 4`; at most MAX_CHANGES, then `and more`."""
    found: list[str] = []
    for change in _changes(before, after, ""):
        if len(found) == MAX_CHANGES:
            return (*found, "and more")
        found.append(change)
    return tuple(found)


def _changes(before: JsonValue, after: JsonValue, where: str) -> Iterator[str]:
    match before, after:
        case dict(), dict():
            for key in dict.fromkeys((*before, *after)):
                path = f"{where}.{key}" if where else key
                if key not in after:
                    yield f"{path}: {excerpt(before[key])} left out"
                elif key not in before:
                    yield f"{path}: {excerpt(after[key])} added"
                else:
                    yield from _changes(before[key], after[key], path)
        case list(), list() if len(before) == len(after):
            for index, (old, new) in enumerate(zip(before, after, strict=True)):
                yield from _changes(old, new, f"{where}[{index}]")
        case _:
            if before != after or describe_kind(before) != describe_kind(after):
                change = f"{excerpt(before)} -> {excerpt(after)}"
                yield f"{where}: {change}" if where else change
