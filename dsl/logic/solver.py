"""Joint satisfiability of conditions. Sound: "no" is certain.

The solver searches the cases that the disjunctions allow. It gives up after too many questions and
then answers "yes", so no document can make it slow.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dsl.logic.claims import Claim, possible
from dsl.logic.formulas import All, Any, Formula, Literal, Opaque, SomeTask, TaskEnded, Value
from dsl.model.conditions import Status
from dsl.paths import MISSING, Path

_MAX_COST = 5_000
"""What one question may cost: about that many comparisons of one claim with another."""
_MAX_DEPTH = 100

SUCCESS, FAILURE, SKIPPED, ABSENT = 1, 2, 4, 8
ANY_STATUS = SUCCESS | FAILURE | SKIPPED | ABSENT
BITS: dict[Status, int] = {"success": SUCCESS, "failure": FAILURE, "skipped": SKIPPED}
_RAN = SUCCESS | FAILURE


class Statuses(NamedTuple):
    """The statuses that the tasks in the facts may have ended with."""

    of: Mapping[str, int]
    """`{task: its statuses, as bits}`; every task that the facts can have."""
    counted: Collection[str]
    """The tasks that `all_success` and its like count."""


@dataclass(slots=True)
class _Case:
    """The assumptions of one case of the search."""

    counted: Collection[str]
    statuses: dict[str, int]
    claims: dict[Path, tuple[Claim, ...]] = field(default_factory=dict[Path, tuple[Claim, ...]])
    opaque: dict[str, bool] = field(default_factory=dict[str, bool])
    some: dict[Status, bool] = field(default_factory=dict[Status, bool])

    def copy(self) -> "_Case":
        return _Case(
            self.counted, dict(self.statuses), dict(self.claims), dict(self.opaque), dict(self.some)
        )

    def admits(self, literal: Literal) -> bool:
        """Return whether one more assumption may hold, judged on its own."""
        match literal:
            case TaskEnded(task=task, status=status, holds=holds):
                bit = BITS[status]
                return self.statuses.get(task, ANY_STATUS) & (bit if holds else ~bit) != 0
            case SomeTask(status=status, holds=holds):
                return self.some.get(status, holds) is holds
            case Opaque(text=text, holds=holds):
                return self.opaque.get(text, holds) is holds
            case Value(path=path, claim=claim):
                return possible((*self.claims.get(path, ()), claim))

    def add(self, literal: Literal) -> None:
        """Add one more assumption."""
        match literal:
            case TaskEnded(task=task, status=status, holds=holds):
                bit = BITS[status]
                self.statuses[task] = self.statuses.get(task, ANY_STATUS) & (bit if holds else ~bit)
            case SomeTask(status=status, holds=holds):
                self.some[status] = holds
            case Opaque(text=text, holds=holds):
                self.opaque[text] = holds
            case Value(path=path, claim=claim):
                self.claims[path] = (*self.claims.get(path, ()), claim)

    def consistent(self) -> bool:
        """Return whether the assumptions about tasks agree, in data and in statuses."""
        for path, claims in self.claims.items():
            match path:
                case ("tasks", task, "data", *below) if not self._data(task, tuple(below), claims):
                    return False
                case _:
                    pass
        for status, holds in self.some.items():
            if not holds:
                for task in self.counted:
                    self.statuses[task] = self.statuses[task] & ~BITS[status]
        if not all(self.statuses.values()):
            return False
        wanted = [self._may_be(status) for status, holds in self.some.items() if holds]
        return all(wanted) and len(set[str]().union(*wanted)) >= len(wanted)

    def _may_be(self, status: Status) -> list[str]:
        return [task for task in self.counted if self.statuses[task] & BITS[status]]

    def _data(self, task: str, below: Path, claims: Sequence[Claim]) -> bool:
        """Check task data: a task that did not run has none; one that did may have any."""
        nothing = (MISSING,) if below else (MISSING, None)
        if any(all(claim.fits(found) for claim in claims) for found in nothing):
            return True
        self.statuses[task] = self.statuses.get(task, ANY_STATUS) & _RAN
        return self.statuses[task] != 0


@dataclass(slots=True)
class Effort:
    """The effort that all questions about one document share."""

    left: int = 100_000


class _TooHard(Exception):
    """The search gave up without an answer."""


class _Search:
    """The search for one question."""

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self.last = max(0, effort.left - _MAX_COST)

    def admits(self, case: _Case, literal: Literal) -> bool:
        """Return whether one more assumption may hold.

        Raises:
            _TooHard: The question took too much effort.
        """
        earlier = case.claims.get(literal.path, ()) if isinstance(literal, Value) else ()
        self.effort.left -= 1 + len(earlier)
        if self.effort.left < self.last:
            raise _TooHard
        return case.admits(literal)

    def is_possible(self, formulas: Iterable[Formula], case: _Case, depth: int = 0) -> bool:
        if depth > _MAX_DEPTH:
            raise _TooHard
        choices: list[Any] = []
        ahead = list(formulas)
        while ahead:
            part = ahead.pop()
            match part:
                case bool():
                    if not part:
                        return False
                case All(parts=parts):
                    ahead.extend(parts)
                case Any():
                    choices.append(part)
                case _:
                    if not self.admits(case, part):
                        return False
                    case.add(part)
        return case.consistent() and self._choose(choices, case, depth + 1)

    def _choose(self, choices: list[Any], case: _Case, depth: int) -> bool:
        """Apply forced choices; otherwise try the parts of the choice with the fewest."""
        if not choices:
            return True
        left = [[part for part in choice.parts if self._open(part, case)] for choice in choices]
        forced = [parts[0] for parts in left if len(parts) == 1]
        if forced or not all(left):
            rest = [choice for choice, parts in zip(choices, left, strict=True) if len(parts) > 1]
            return all(left) and self.is_possible((*forced, *rest), case, depth)
        number = min(range(len(left)), key=lambda index: len(left[index]))
        rest = [choice for index, choice in enumerate(choices) if index != number]
        return any(self.is_possible((part, *rest), case.copy(), depth) for part in left[number])

    def _open(self, part: Formula, case: _Case) -> bool:
        """Return whether a part of a choice has no immediate contradiction."""
        match part:
            case bool():
                return part
            case All() | Any():
                return True
            case _:
                return self.admits(case, part)


def can_hold(formulas: Iterable[Formula], worlds: Sequence[Statuses], effort: Effort) -> bool:
    """Return False only when the formulas certainly cannot hold together.

    Args:
        formulas: All of the formulas.
        worlds: The possible statuses of the tasks, one case each.
        effort: The effort left for this document; the search uses it up.
    """
    asked = tuple(formulas)
    return any(_can_hold(asked, world, effort) for world in worlds)


def _can_hold(formulas: Sequence[Formula], world: Statuses, effort: Effort) -> bool:
    if effort.left <= 0:
        return True
    effort.left -= 1 + len(world.of) // 8
    try:
        return _Search(effort).is_possible(formulas, _Case(world.counted, dict(world.of)))
    except _TooHard:
        return True
