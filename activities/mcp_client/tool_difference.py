"""The difference between two versions of a tool of an MCP server, for people."""

import json
from collections.abc import Iterator

from pydantic import JsonValue

from coterie.dsl.json_values import json_equal
from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.visible import one_line

_MAX_LINES = 10
_MAX_VALUE_LENGTH = 160


def differences(before: ServerTool, after: ServerTool) -> list[str]:
    """Return a line for each part that differs: `input_schema.required: ["a"] -> ["a", "b"]`."""
    lines = list(_of(before.model_dump(mode="json"), after.model_dump(mode="json"), ""))
    if len(lines) > _MAX_LINES:
        return [*lines[:_MAX_LINES], f"and {len(lines) - _MAX_LINES} more"]
    return lines


def _of(before: JsonValue, after: JsonValue, path: str) -> Iterator[str]:
    if json_equal(before, after):
        return
    if not isinstance(before, dict) or not isinstance(after, dict):
        yield f"{path}: {_brief(before, after)}"
        return
    for key in dict.fromkeys((*before, *after)):
        place = f"{path}.{one_line(key)}" if path else one_line(key)
        if key not in after:
            yield f"{place}: removed"
        elif key not in before:
            yield f"{place}: added {_cut(_json(after[key]), 0)}"
        else:
            yield from _of(before[key], after[key], place)


def _brief(before: JsonValue, after: JsonValue) -> str:
    """Return both values, from a little before the place where they begin to differ."""
    old, new = _json(before), _json(after)
    same = next(
        (number for number, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
    start = max(0, same - 30)
    return f"{_cut(old, start)} -> {_cut(new, start)}"


def _json(value: JsonValue) -> str:
    return one_line(json.dumps(value, ensure_ascii=False, sort_keys=True))


def _cut(text: str, start: int) -> str:
    rest = text[start:]
    excerpt = rest if len(rest) <= _MAX_VALUE_LENGTH else f"{rest[:_MAX_VALUE_LENGTH]}..."
    return f"...{excerpt}" if start else excerpt
