"""The run's context: shared, immutable JSON; every change makes a new one."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from coterie.dsl.errors import ContextConflict, ContextUpdateFailed, InvalidContext
from coterie.dsl.evaluate.context_operations import changed
from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.evaluate.declared_values import write
from coterie.dsl.json_values import json_equal
from coterie.dsl.model.context.declarations import UNDECLARED, Declarations
from coterie.dsl.paths import MISSING, get, parse
from coterie.dsl.values import Json


def apply(
    context: Json, writes: Iterable[ContextWrite], declared: Declarations = UNDECLARED
) -> Json:
    """Apply the writes to a context, one after the other; every change of a context comes here.

    Raises:
        ContextConflict: a path leads through a value that is not a mapping.
        ContextUpdateFailed: an operation finds, or is given, a value of the wrong type.
        InvalidContext: a value or a path does not fit what is declared.
    """
    for one in writes:
        path = parse(one.path)
        present = MISSING if one.operation is None else get(context, path)
        value = changed(one, present)
        if value is MISSING:
            continue
        try:
            context = write(context, path, value, declared)
        except ValueError as error:
            raise ContextConflict(f"context_updates: {one.path!r} cannot be set: {error}") from None
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
