"""Formulas: what conditions ask, joined by and and or, with every "not" carried inwards."""

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import JsonValue

from dsl.logic.ranges_of_values import Claim
from dsl.model.conditions import Operator, Status
from dsl.paths import Path


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """A task ended so."""

    task: str
    status: Status
    holds: bool = True


@dataclass(frozen=True, slots=True)
class SomeTask:
    """At least one task of the team ended so."""

    status: Status
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Value:
    """What lies at a path of the facts meets a test."""

    path: Path
    """`("context", "order", "id")`, or `("tasks", "review", "data", "status")`."""
    claim: Claim


@dataclass(frozen=True, slots=True)
class Opaque:
    """An expression that is not looked into: the same text is as true as it is elsewhere."""

    text: str
    holds: bool = True


@dataclass(frozen=True, slots=True)
class All:
    """Every part."""

    parts: tuple["Formula", ...]


@dataclass(frozen=True, slots=True)
class Any:
    """At least one part."""

    parts: tuple["Formula", ...]


Literal = TaskEnded | SomeTask | Value | Opaque
Formula = bool | Literal | All | Any


def joined(parts: Iterable[Formula], *, every: bool) -> Formula:
    """All of the parts or any of them, simplified."""
    kept: list[Formula] = []
    for part in parts:
        if part is (not every):
            return part
        if part is not every:
            kept.append(part)
    if not kept:
        return every
    return kept[0] if len(kept) == 1 else All(tuple(kept)) if every else Any(tuple(kept))


def tested(path: Path, operator: Operator, value: JsonValue, holds: bool) -> Formula:
    """A test of what lies at the path."""
    return Value(path, Claim(operator, value, holds))
