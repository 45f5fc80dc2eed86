"""SomePaths through lists of steps on which no step replies, although no step fails.

A path is what must hold for it: the conditions, and the steps that are then skipped. The paths of a
list are all of them, or None if there are too many to list.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from coterie.dsl.logic.formulas import Formula
from coterie.dsl.logic.translation import formula
from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.step_list import EachRound, Grouped, Tried, form_of
from coterie.dsl.model.steps import BranchStep, FailStep, ReplyStep, ReturnStep, Step, TeamStep
from coterie.dsl.model.traversal.step_walk import walk

_MAX_PATHS = 64


class PathWithoutReply(NamedTuple):
    """One path through some steps without a reply."""

    holds: tuple[Formula, ...] = ()
    skipped: tuple[str, ...] = ()
    """The steps that would reply on another path, and do not run on this one."""
    empty: tuple[str, ...] = ()
    """The loops that would reply, and have no round on this one."""
    returned: bool = False
    """Whether it leaves the team's tasks by a `return`."""

    def then(self, other: "PathWithoutReply") -> "PathWithoutReply":
        """Return this path, continued by another one."""
        return PathWithoutReply(
            (*self.holds, *other.holds),
            (*self.skipped, *other.skipped),
            (*self.empty, *other.empty),
            other.returned,
        )


SomePaths = tuple[PathWithoutReply, ...] | None
"""None: too many; then nothing is reported."""

STRAIGHT = PathWithoutReply()


@dataclass(frozen=True, slots=True)
class PathsWithoutReply:
    """The paths without a reply through the steps of one plan."""

    replying: Collection[str]
    """The teams that may reply, themselves or by a team that they call."""

    def through(self, steps: Sequence[Step]) -> SomePaths:
        """Return the paths through a list of steps without a reply."""
        paths: tuple[PathWithoutReply, ...] = (STRAIGHT,)
        for step in steps:
            own = self._step(step)
            if own is None:
                return None
            joined = continued(paths, own)
            if not joined:
                return joined
            paths = joined
        return paths

    def _step(self, step: Step) -> SomePaths:
        own = self._runs(step)
        if step.when is None or own is None or own == (STRAIGHT,):
            return own
        return (*own, PathWithoutReply((formula(step.when, False),), (step.name,)))

    def _runs(self, step: Step) -> SomePaths:
        match step:
            case ReplyStep() | FailStep():
                return ()
            case ReturnStep():
                return (PathWithoutReply(returned=True),)
            case TeamStep(team=team):
                return () if team in self.replying else (STRAIGHT,)
            case BranchStep():
                return self._branches(step)
            case _:
                return self._lists(step)

    def _lists(self, step: Step) -> SomePaths:
        """Return the paths through a step that holds others, or calls something."""
        lists = tuple(step.lists())
        match form_of(lists):
            case Grouped() | Tried():
                return self.through(lists[0].steps)
            case EachRound() as rounds:
                return self.through(lists[0].steps) if rounds.has_round else self._maybe(step)
            case _:  # one of several may reply
                return (STRAIGHT,)

    def _branches(self, step: BranchStep) -> SomePaths:
        paths: list[PathWithoutReply] = []
        earlier: list[Formula] = []
        cases: list[tuple[Condition | None, SomePaths]] = [
            *((branch.condition, self.through(branch.steps)) for branch in step.branches),
            (None, self.through(step.otherwise)),
        ]
        if any(inner is None for _, inner in cases):
            return None
        if all(inner == (STRAIGHT,) for _, inner in cases) and not _replies(step):
            return (STRAIGHT,)
        if sum(len(inner or ()) for _, inner in cases) > _MAX_PATHS:
            return None
        for condition, inner in cases:
            formulas = earlier if condition is None else [*earlier, formula(condition)]
            paths += (path._replace(holds=(*formulas, *path.holds)) for path in inner or ())
            if condition is not None:
                earlier.append(formula(condition, False))
        return tuple(paths)

    def _maybe(self, step: Step) -> SomePaths:
        """Return the paths through a loop that may have no round."""
        return (PathWithoutReply(empty=(step.name,)),) if _replies(step) else (STRAIGHT,)


def continued(
    paths: tuple[PathWithoutReply, ...], after: tuple[PathWithoutReply, ...]
) -> SomePaths:
    """Return each path continued by each of the others; a `return` ends a path."""
    if after == (STRAIGHT,):
        return paths
    continuations = [
        *(path for path in paths if path.returned),
        *(path.then(other) for path in paths if not path.returned for other in after),
    ]
    return tuple(continuations) if len(continuations) <= _MAX_PATHS else None


def _replies(step: Step) -> bool:
    return any(isinstance(inner, ReplyStep) for inner, _ in walk([step], ()))


def replying_teams(plan: Plan) -> frozenset[str]:
    """Return the teams that reply or take messages, and those that lead or call there."""
    teams = {
        team.id
        for team in plan.teams.values()
        if any(isinstance(step, ReplyStep) or step.takes_message for step in _all(team.steps))
    }
    before: dict[str, list[str]] = {}
    for team in plan.teams:
        for after in _next(plan, team):
            before.setdefault(after, []).append(team)
    ahead = list(teams)
    while ahead:
        more = [team for team in before.get(ahead.pop(), ()) if team not in teams]
        teams.update(more)
        ahead += more
    return frozenset(teams)


def _all(steps: Sequence[Step]) -> Iterator[Step]:
    return (step for step, _ in walk(steps, ()))


def _next(plan: Plan, team_id: str) -> set[str]:
    team = plan.teams[team_id]
    teams = {step.team for step in _all(team.steps) if isinstance(step, TeamStep)}
    if team.routing is None:
        return teams
    for rule in team.routing.rules:
        named = rule.next_team if isinstance(rule.next_team, tuple) else (rule.next_team,)
        teams |= {name for name in named if name is not None}
    return teams | ({team.routing.default} if team.routing.default is not None else set())
