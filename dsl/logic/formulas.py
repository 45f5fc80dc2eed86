"""Formulas of conditions in negation normal form: and, or, and tests."""

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import JsonValue

from coterie.dsl.logic.claims import Claim
from coterie.dsl.model.conditions import Operator, Status
from coterie.dsl.paths import Path


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """One task ended with a certain status."""

    task: str
    status: Status
    holds: bool = True


@dataclass(frozen=True, slots=True)
class SomeTask:
    """At least one task of the team ended with a certain status."""

    status: Status
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Value:
    """A test of the value at a path of the facts."""

    path: Path
    """`("context", "order", "id")`, or `("tasks", "review", "data", "status")`."""
    claim: Claim


@dataclass(frozen=True, slots=True)
class Opaque:
    """An expression that the solver does not inspect: equal texts have equal truth."""

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
    """Join the parts with and, or with or, and simplify the result."""
    rest: list[Formula] = []
    for part in parts:
        if part is (not every):
            return part
        if part is not every:
            rest.append(part)
    if not rest:
        return every
    return rest[0] if len(rest) == 1 else All(tuple(rest)) if every else Any(tuple(rest))


def tested(path: Path, operator: Operator, value: JsonValue, holds: bool) -> Formula:
    """Test the value at the path."""
    return Value(path, Claim(operator, value, holds))
