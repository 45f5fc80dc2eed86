"""The difference of two states as a JSON Patch (RFC 6902). Pure."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal, TypedDict

from pydantic import JsonValue

from coterie.dsl.json_values import json_equal


class PatchOperation(TypedDict, total=False):
    """One operation of a patch."""

    op: Literal["add", "remove", "replace"]
    path: str
    value: JsonValue


def state_patch(before: JsonValue, after: JsonValue, path: str = "") -> Iterator[PatchOperation]:
    """Yield what makes one state of another: mappings key by key, lists only where they grow."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before:
            if key not in after:
                yield {"op": "remove", "path": _below(path, key)}
        for key, value in after.items():
            if key in before:
                yield from state_patch(before[key], value, _below(path, key))
            else:
                yield {"op": "add", "path": _below(path, key), "value": value}
    elif json_equal(before, after):
        return
    elif isinstance(before, list) and isinstance(after, list) and _grows(before, after):
        for value in after[len(before) :]:
            yield {"op": "add", "path": f"{path}/-", "value": value}
    else:
        yield {"op": "replace", "path": path, "value": after}


def patch_size(patch: Sequence[PatchOperation]) -> int:
    """Return how many characters a patch has."""
    return len(json.dumps(patch, ensure_ascii=False))


def _below(path: str, key: str) -> str:
    escaped = key.replace("~", "~0").replace("/", "~1")
    return f"{path}/{escaped}"


def _grows(before: list[JsonValue], after: list[JsonValue]) -> bool:
    return len(after) > len(before) and json_equal(after[: len(before)], before)
