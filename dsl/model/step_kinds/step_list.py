"""The lists of steps that a step holds: what each is, and where it is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pydantic import JsonValue

from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.template_bound import Bound, ConcurrencyBound, maximum_of
from coterie.dsl.values import NodePath

if TYPE_CHECKING:  # `steps` adds it when all kinds are known
    from coterie.dsl.model.steps import Step


@dataclass(frozen=True, slots=True)
class EachRound:
    """The body of a loop."""

    over: JsonValue = None
    """The list, or the template for one."""
    has_condition: bool = False
    """Whether one is tested before each round."""
    item: str | None = None
    """The variable of the current item."""
    maximum: Bound | None = None
    concurrency: ConcurrencyBound = 1

    @property
    def has_round(self) -> bool:
        """Whether there is a round, whatever its facts."""
        if isinstance(self.over, list):
            return bool(self.over)
        return self.over is None and not self.has_condition

    @property
    def is_once(self) -> bool:
        """Whether there is at most one round."""
        return (self.maximum is not None and maximum_of(self.maximum) == 1) or (
            isinstance(self.over, list) and len(self.over) < 2
        )

    @property
    def is_concurrent(self) -> bool:
        """Whether each round has its own variables; also where a template decides how many."""
        return self.over is not None and self.concurrency != 1


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

    @property
    def takes_all(self) -> bool:
        """Whether it takes every failure."""
        return "*" in self.errors


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


Form = EachRound | Choosing | WhenHolds | Concurrent | Tried | Grouped
"""The roles that the first list of a step has: loop, task graph, branch, parallel, try, block."""


def form_of(lists: Sequence[StepList]) -> Form | None:
    """Return the role of the first list, which tells the form of a step; None if it holds none."""
    role = lists[0].role if lists else None
    assert not isinstance(role, EachTask | OnFailedTask | Otherwise | OnError | AtTheEnd)
    return role


def catches_all(clauses: Sequence[StepList]) -> bool:
    """Return whether one of the catch clauses of a try takes every failure."""
    return any(isinstance(clause.role, OnError) and clause.role.takes_all for clause in clauses)
