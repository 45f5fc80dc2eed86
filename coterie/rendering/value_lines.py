"""Show JSON values to people: on one line where they fit, otherwise part by part."""

import json
from collections.abc import Iterator
from itertools import islice

from pydantic import JsonValue

from coterie.dsl.visible import one_line
from coterie.rendering.progress_lines import wrapped

_MAX_NESTED = 4
"""Lines of a text within a mapping or a list, so that it does not hide the rest."""


def compact(value: JsonValue, room: int) -> str | None:
    """Return the value on one line of at most `room` characters; None if it does not fit."""
    if room < 1:  # and so nothing deep is walked
        return None
    match value:
        case dict():
            items = ((f"{one_line(key)}: ", item) for key, item in value.items())
            return _join_parts("{", items, "}", room)
        case list():
            return _join_parts("[", (("", item) for item in value), "]", room)
        case str() if len(value) > room:
            return None
        case _:
            text = json.dumps(value, ensure_ascii=False)
            return text if len(text) <= room else None


def _join_parts(
    opening: str, items: Iterator[tuple[str, JsonValue]], closing: str, room: int
) -> str | None:
    """Return the parts between brackets; stop at the first that does not fit."""
    text = opening
    for number, (label, item) in enumerate(items):
        text += f"{', ' if number else ''}{label}"
        part = compact(item, room - len(text) - len(closing))
        if part is None:
            return None
        text += part
    return text + closing if len(text) < room else None


def value_lines(value: JsonValue, width: int, indent: str) -> Iterator[str]:
    """Yield the value on as many lines as it needs, the parts of mappings and lists below them."""
    match value:
        case dict() if value:
            for key, item in value.items():
                yield from _lines_of_part(f"{one_line(key)}:", item, width, indent)
        case list() if value:
            for item in value:
                yield from _lines_of_part("-", item, width, indent)
        case str():
            yield from wrapped(value.rstrip("\n"), width, indent)
        case _:
            yield from wrapped(json.dumps(value, ensure_ascii=False), width, indent)


def _lines_of_part(label: str, item: JsonValue, width: int, indent: str) -> Iterator[str]:
    brief = compact(item, width - len(indent) - len(label) - 1)
    if brief is not None:
        yield f"{indent}{label} {brief}"
        return
    if 2 * len(indent) > width:  # too deep to be read
        yield f"{indent}{label} ..."
        return
    yield f"{indent}{label}"
    lines = value_lines(item, width, f"{indent}  ")
    yield from lines if not isinstance(item, str) else islice(lines, _MAX_NESTED)
    if next(lines, None) is not None:
        yield f"{indent}  ..."
