"""The run's context: shared, immutable JSON; every change makes a new one."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from dsl.errors import ContextConflict
from dsl.paths import parse, put
from dsl.values import Json


@dataclass(frozen=True, slots=True)
class Update:
    """One change: a dotted path, its new value, and who writes it."""

    path: str
    value: JsonValue
    writer: str


def apply(context: Json, updates: Mapping[str, JsonValue]) -> Json:
    """The context with the updates merged in, as one writer's: paths in written order.

    Raises:
        ContextConflict: a path leads through a value that is no mapping.
    """
    for path, value in updates.items():
        try:
            context = put(context, parse(path), value)
        except ValueError as error:
            raise ContextConflict(f"context_updates: {path!r} cannot be set: {error}") from None
    return context
