"""The run's context: shared, immutable JSON; every change makes a new one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from dsl.errors import ContextConflict
from dsl.evaluate.declared_values import write
from dsl.json_values import json_equal
from dsl.model.context.declarations import UNDECLARED, Declarations
from dsl.paths import MISSING, get, parse
from dsl.values import Json


def apply(
    context: Json, updates: Mapping[str, JsonValue], declared: Declarations = UNDECLARED
) -> Json:
    """Return the context with the updates of one writer merged in, in written order.

    Raises:
        ContextConflict: a path leads through a value that is not a mapping.
        InvalidContext: a value or a path does not fit what is declared.
    """
    for path, value in updates.items():
        try:
            context = write(context, parse(path), value, declared)
        except ValueError as error:
            raise ContextConflict(f"context_updates: {path!r} cannot be set: {error}") from None
    return context


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
