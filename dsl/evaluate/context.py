"""The run's context: shared, immutable JSON; every change makes a new one."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

from pydantic import JsonValue

from coterie.dsl.errors import ContextConflict, ContextUpdateFailed, InvalidContext
from coterie.dsl.evaluate.context_writes import ContextWrite, Operation
from coterie.dsl.evaluate.declared_values import write
from coterie.dsl.json_values import describe_kind, json_equal
from coterie.dsl.model.context.declarations import UNDECLARED, Declarations
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.paths import MISSING, Missing, get, parse
from coterie.dsl.values import Json

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


def _wrong(write: ContextWrite, kind: str, present: JsonValue) -> ContextUpdateFailed:
    return _failure(write, f"`{write.operation}` needs {kind} there, and it holds {_kind(present)}")


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


def apply(
    context: Json, writes: Iterable[ContextWrite], declared: Declarations = UNDECLARED
) -> Json:
    """Apply the writes to a context, one after the other; every change of a context comes here.

    Raises:
        ContextConflict: a path leads through a value that is not a mapping.
        ContextUpdateFailed: an operation finds, or is given, a value of the wrong type.
        InvalidContext: a value or a path does not fit what is declared.
    """
    for update in writes:
        path = parse(update.path)
        present = MISSING if update.operation is None else get(context, path)
        value = changed(update, present)
        if value is MISSING:
            continue
        try:
            context = write(context, path, value, declared)
        except ValueError as error:
            raise ContextConflict(
                f"context_updates: {update.path!r} cannot be set: {error}"
            ) from None
    return context


def replacing(updates: Mapping[str, JsonValue]) -> tuple[ContextWrite, ...]:
    """Turn `{path: value}` into writes that replace what is there."""
    return tuple(ContextWrite(path, value) for path, value in updates.items())


def lacking_context(needs: Mapping[str, str], context: Json) -> str | None:
    """Return why a run cannot start with the context, naming each path's first reader; or None.

    Args:
        needs: `{path of the context: the step that reads it first}`.
        context: as given at the start.
    """
    lacking = [path for path in needs if get(context, parse(path)) is MISSING]
    if not lacking:
        return None
    missing = ", ".join(f"{path} (read by {needs[path]})" for path in lacking)
    return f"the context lacks what the plan needs: {missing}"


WRITE_ERRORS = (ContextConflict, ContextUpdateFailed, InvalidContext)
"""What `apply` raises: expected failures of the step that writes."""


@dataclass(frozen=True, slots=True)
class PathChange:
    """The change at one path."""

    path: str
    change: Literal["added", "changed", "removed"]
    before: JsonValue = None
    after: JsonValue = None


def differences(before: Json, after: Json) -> tuple[PathChange, ...]:
    """Return the differences by path, down to where either side is not a mapping."""
    return tuple(_differences(before, after, ()))


def _differences(before: Json, after: Json, path: tuple[str, ...]) -> Iterator[PathChange]:
    for key in dict.fromkeys((*before, *after)):
        where = ".".join((*path, key))
        old, new = before.get(key), after.get(key)
        if key not in after:
            yield PathChange(where, "removed", before=old)
        elif key not in before:
            yield PathChange(where, "added", after=new)
        elif isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, (*path, key))
        elif not json_equal(old, new):
            yield PathChange(where, "changed", old, new)
