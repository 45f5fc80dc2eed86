"""The run's context: shared, immutable JSON; every change makes a new one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from dsl.errors import ContextConflict
from dsl.json_values import json_equal
from dsl.paths import MISSING, get, parse, put
from dsl.values import Json


def apply(context: Json, updates: Mapping[str, JsonValue]) -> Json:
    """The context with the updates merged in, as one writer's: paths in written order.

    Raises:
        ContextConflict: a path leads through a value that is not a mapping.
    """
    for path, value in updates.items():
        try:
            context = put(context, parse(path), value)
        except ValueError as error:
            raise ContextConflict(f"context_updates: {path!r} cannot be set: {error}") from None
    return context


def lacking_context(needs: Mapping[str, str], context: Json) -> str | None:
    """Why a run cannot start with the context, each path with its first reader; or None.

    Args:
        needs: `{path of the context: the step that reads it first}`.
        context: what the start gives.
    """
    lacking = [path for path in needs if get(context, parse(path)) is MISSING]
    if not lacking:
        return None
    missing = ", ".join(f"{path} (read by {needs[path]})" for path in lacking)
    return f"the context lacks what the plan needs: {missing}"


@dataclass(frozen=True, slots=True)
class PathChange:
    """What became of one path."""

    path: str
    change: Literal["added", "changed", "removed"]
    before: JsonValue = None
    after: JsonValue = None


def differences(before: Json, after: Json) -> tuple[PathChange, ...]:
    """What differs, by path, as deep as both hold mappings."""
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
