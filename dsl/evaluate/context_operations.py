"""Operations of `context_updates`: the value that each makes of the one that is there. Pure."""

import math
from typing import Literal, assert_never

from pydantic import JsonValue

from coterie.dsl.errors import ContextUpdateFailed
from coterie.dsl.evaluate.context_writes import ContextWrite, Operation
from coterie.dsl.json_values import describe_kind, json_equal
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.paths import MISSING, Missing

Present = JsonValue | Literal[Missing.MISSING]


def changed(write: ContextWrite, present: Present) -> Present:
    """Return the new value of a path; MISSING if there is still nothing to write.

    Nothing is changed in place. What is missing counts as an empty list or mapping, or as 0.

    Raises:
        ContextUpdateFailed: the value there, or the operand, has the wrong type.
    """
    value = write.value
    match write.operation:
        case None:
            return value
        case "append":
            return [*_list(write, present), value]
        case "extend":
            if not isinstance(value, list):
                raise _failure(write, f"`extend` takes a list, and its value is {_kind(value)}")
            return [*_list(write, present), *value]
        case "merge":
            return _merge_value(write, present, value)
        case "increment":
            return _sum(write, present, value)
        case "remove":
            return _without(write, present, value)
        case _:
            assert_never(write.operation)


def _list(write: ContextWrite, present: Present) -> list[JsonValue]:
    if present is MISSING:
        return []
    if not isinstance(present, list):
        raise _wrong(write, "a list", present)
    return present


def _merge_value(write: ContextWrite, present: Present, value: JsonValue) -> JsonValue:
    if not isinstance(value, dict):
        raise _failure(write, f"`merge` takes a mapping, and its value is {_kind(value)}")
    if present is MISSING:
        return deep_merge({}, value)
    if not isinstance(present, dict):
        raise _wrong(write, "a mapping", present)
    return deep_merge(present, value)


def _sum(write: ContextWrite, present: Present, value: JsonValue) -> JsonValue:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _failure(write, f"`increment` takes a number, and its value is {_kind(value)}")
    if present is MISSING:
        return value
    if isinstance(present, bool) or not isinstance(present, int | float):
        raise _wrong(write, "a number", present)
    try:
        total = present + value
    except OverflowError:
        total = math.inf
    if not math.isfinite(total):
        raise _failure(write, "the sum is beyond all numbers that JSON has")
    return total


def _without(write: ContextWrite, present: Present, value: JsonValue) -> Present:
    if present is MISSING:
        return MISSING
    if isinstance(present, list):
        return [item for item in present if not json_equal(item, value)]
    if not isinstance(present, dict):
        raise _wrong(write, "a list or a mapping", present)
    if not isinstance(value, str):
        raise _failure(
            write, f"`remove` takes a key of the mapping, and its value is {_kind(value)}"
        )
    return {key: item for key, item in present.items() if key != value}


def _wrong(write: ContextWrite, wanted: str, present: JsonValue) -> ContextUpdateFailed:
    return _failure(
        write, f"`{write.operation}` needs {wanted} there, and it holds {_kind(present)}"
    )


def _failure(write: ContextWrite, reason: str) -> ContextUpdateFailed:
    return ContextUpdateFailed(f"context_updates: {write.path!r}: {reason}")


def _kind(value: JsonValue) -> str:
    return describe_kind(value)


COMMUTING: dict[Operation, Operation] = {
    "append": "append",
    "extend": "append",
    "increment": "increment",
}
"""`{operation: the group within which writers of one path do not conflict}`."""
