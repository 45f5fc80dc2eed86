"""Joint satisfiability of conditions. Sound: "no" is certain.

The solver searches the cases that the disjunctions allow. It gives up after too many questions and
then answers "yes", so no document can make it slow; what it left out can be named.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from coterie.dsl.logic.claims import Claim, possible
from coterie.dsl.logic.formulas import (
    All,
    Any,
    Formula,
    Literal,
    Opaque,
    SomeTask,
    TaskEnded,
    Value,
)
from coterie.dsl.model.conditions import Status
from coterie.dsl.paths import MISSING, Path
from coterie.dsl.values import NodePath

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

    world: Statuses
    statuses: dict[str, int] = field(default_factory=dict[str, int])
    """Of the tasks that an assumption is about; the others end as in the world."""
    claims: dict[Path, tuple[Claim, ...]] = field(default_factory=dict[Path, tuple[Claim, ...]])
    opaque: dict[str, bool] = field(default_factory=dict[str, bool])
    some: dict[Status, bool] = field(default_factory=dict[Status, bool])

    def copy(self) -> "_Case":
        return _Case(
            self.world, dict(self.statuses), dict(self.claims), dict(self.opaque), dict(self.some)
        )

    def status(self, task: str) -> int:
        """Return how a task may have ended."""
        own = self.statuses.get(task)
        return self.world.of.get(task, ANY_STATUS) if own is None else own

    def admits(self, literal: Literal) -> bool:
        """Return whether one more assumption may hold, judged on its own."""
        match literal:
            case TaskEnded(task=task, status=status, holds=holds):
                bit = BITS[status]
                return self.status(task) & (bit if holds else ~bit) != 0
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
                self.statuses[task] = self.status(task) & (bit if holds else ~bit)
            case SomeTask(status=status, holds=holds):
                self.some[status] = holds
            case Opaque(text=text, holds=holds):
                self.opaque[text] = holds
            case Value():
                pass  # added together with others about the same value

    def consistent(self) -> bool:
        """Return whether the assumptions about tasks agree, in data and in statuses."""
        for path, claims in self.claims.items():
            match path:
                case ("tasks", task, "data", *below) if not self._data(task, tuple(below), claims):
                    return False
                case _:
                    pass
        counted = self.world.counted
        for status, holds in self.some.items():
            if not holds:
                for task in counted:
                    self.statuses[task] = self.status(task) & ~BITS[status]
        if not all(self.statuses.values()) or not all(self.world.of.values()):
            return False
        candidates = [self._may_be(status) for status, holds in self.some.items() if holds]
        return all(candidates) and len(set[str]().union(*candidates)) >= len(candidates)

    def _may_be(self, status: Status) -> list[str]:
        return [task for task in self.world.counted if self.status(task) & BITS[status]]

    def _data(self, task: str, below: Path, claims: Sequence[Claim]) -> bool:
        """Check task data: a task that did not run has none; one that did may have any."""
        nothing = (MISSING,) if below else (MISSING, None)
        if any(all(claim.fits(value) for claim in claims) for value in nothing):
            return True
        self.statuses[task] = self.status(task) & _RAN
        return self.statuses[task] != 0


@dataclass(slots=True)
class Effort:
    """The effort that all questions about one document share."""

    left: int = 300_000
    unanswered: dict[NodePath, int] = field(default_factory=dict[NodePath, int])
    """`{team or plan: how many questions about it got no answer}`."""

    def leave_out(self, subject: NodePath) -> None:
        """Note a question about a team or a plan that gets no answer."""
        self.unanswered[subject] = self.unanswered.get(subject, 0) + 1


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
        self._spend(1 + len(earlier))
        return case.admits(literal)

    def admits_together(self, case: _Case, path: Path, claims: Sequence[Claim]) -> bool:
        """Add several claims about one value; return whether they may hold with the earlier ones.

        Raises:
            _TooHard: The question took too much effort.
        """
        case.claims[path] = (*case.claims.get(path, ()), *claims)
        self._spend(len(claims) + len(case.claims[path]))
        return possible(case.claims[path])

    def _spend(self, effort: int) -> None:
        self.effort.left -= effort
        if self.effort.left < self.last:
            raise _TooHard

    def is_possible(self, formulas: Iterable[Formula], case: _Case, depth: int = 0) -> bool:
        if depth > _MAX_DEPTH:
            raise _TooHard
        choices: list[Any] = []
        claims: dict[Path, list[Claim]] = {}
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
                case Value(path=path, claim=claim):
                    claims.setdefault(path, []).append(claim)
                case _:
                    if not self.admits(case, part):
                        return False
                    case.add(part)
        if not all(self.admits_together(case, path, new) for path, new in claims.items()):
            return False
        return case.consistent() and self._choose(choices, case, depth + 1)

    def _choose(self, choices: list[Any], case: _Case, depth: int) -> bool:
        """Apply forced choices; otherwise try the parts of the choice with the fewest."""
        if not choices:
            return True
        open_parts = [
            [part for part in choice.parts if self._open(part, case)] for choice in choices
        ]
        forced = [parts[0] for parts in open_parts if len(parts) == 1]
        if forced or not all(open_parts):
            rest = [
                choice for choice, parts in zip(choices, open_parts, strict=True) if len(parts) > 1
            ]
            return all(open_parts) and self.is_possible((*forced, *rest), case, depth)
        number = min(range(len(open_parts)), key=lambda index: len(open_parts[index]))
        rest = [choice for index, choice in enumerate(choices) if index != number]
        return any(
            self.is_possible((part, *rest), case.copy(), depth) for part in open_parts[number]
        )

    def _open(self, part: Formula, case: _Case) -> bool:
        """Return whether a part of a choice has no immediate contradiction."""
        match part:
            case bool():
                return part
            case All() | Any():
                return True
            case _:
                return self.admits(case, part)


def can_hold(
    formulas: Iterable[Formula],
    worlds: Iterable[Statuses],
    effort: Effort,
    subject: NodePath = (),
) -> bool:
    """Return False only when the formulas certainly cannot hold together.

    Args:
        formulas: All of the formulas; not read once the effort is used up.
        worlds: The possible statuses of the tasks, one case each; read up to the first that fits.
        effort: The effort left for this document; the search uses it up.
        subject: The team or plan that the question is about.
    """
    if effort.left <= 0:
        effort.leave_out(subject)
        return True
    conjuncts = tuple(formulas)
    effort.left -= len(conjuncts) // 8
    return any(_can_hold(conjuncts, world, effort, subject) for world in worlds)


def _can_hold(
    formulas: Sequence[Formula], world: Statuses, effort: Effort, subject: NodePath
) -> bool:
    effort.left -= 1 + len(world.of) // 64
    try:
        return _Search(effort).is_possible(formulas, _Case(world))
    except _TooHard:
        effort.leave_out(subject)
        return True
