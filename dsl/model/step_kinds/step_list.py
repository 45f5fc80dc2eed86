"""The lists of steps that a step holds: what each is, and where it is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pydantic import JsonValue

from coterie.dsl.model.conditions import Condition
from coterie.dsl.values import NodePath

if TYPE_CHECKING:  # `steps` adds it when all kinds are known
    from coterie.dsl.model.steps import Step


@dataclass(frozen=True, slots=True)
class EachRound:
    """The body of a loop."""


@dataclass(frozen=True, slots=True)
class Choosing:
    """The steps of a task graph that choose the next task."""


@dataclass(frozen=True, slots=True)
class EachTask:
    """The steps of each task of a task graph."""


@dataclass(frozen=True, slots=True)
class OnFailedTask:
    """The steps of a task graph for a task that has failed."""


@dataclass(frozen=True, slots=True)
class WhenHolds:
    """A branch that its condition chooses."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Otherwise:
    """The branch that no condition chooses."""


@dataclass(frozen=True, slots=True)
class Concurrent:
    """A named branch of a parallel step."""

    name: str
    priority: int = 0
    score: JsonValue = None


@dataclass(frozen=True, slots=True)
class Tried:
    """The steps of a try."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """The steps of a block."""


@dataclass(frozen=True, slots=True)
class OnError:
    """The steps of a catch clause."""

    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AtTheEnd:
    """The `finally` of a try."""


ListRole = (
    EachRound
    | Choosing
    | EachTask
    | OnFailedTask
    | WhenHolds
    | Otherwise
    | Concurrent
    | Tried
    | Grouped
    | OnError
    | AtTheEnd
)


class StepList(NamedTuple):
    """Steps that run one after the other within a step."""

    steps: "Sequence[Step]"
    path: NodePath
    """Where they are written."""
    role: ListRole
