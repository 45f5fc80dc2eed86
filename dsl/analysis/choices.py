"""Conditions that can never hold, and ways that are never chosen because of earlier ones."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from dsl.analysis.bodies import TEAMS, Bodies, Body
from dsl.analysis.teams import Teams
from dsl.evaluate.condition_text import condition_text
from dsl.logic.formulas import Formula
from dsl.logic.possible_statuses import during
from dsl.logic.solver import Effort, Statuses, can_hold
from dsl.logic.translation import formula
from dsl.model.conditions import AllOf, Condition
from dsl.model.plan import Routing, Team
from dsl.model.step_walk import conditions
from dsl.model.steps import BranchStep, TryStep
from dsl.source.nodes import Node, Problems
from dsl.values import NodePath

_MAX_PARTS = 12
_MAX_CONDITION_LENGTH = 80
Worlds = Sequence[Statuses]


class Alternative:
    """One of several ways: the first whose condition holds is taken."""

    def __init__(self, condition: Condition | None, path: NodePath) -> None:
        self.condition = condition
        self.path = path
        """Of the rule or branch."""
        self.taken: Formula = True if condition is None else formula(condition)
        self.passed: Formula = False if condition is None else formula(condition, False)

    @property
    def at(self) -> NodePath:
        """Where a reader is shown that it is never taken."""
        return self.path if self.condition is None else (*self.path, "condition")


@dataclass(frozen=True, slots=True)
class Choices:
    """Looks at the choices of one document."""

    graph: Teams
    tree: Node
    problems: Problems
    effort: Effort

    def check(self, bodies: Bodies) -> None:
        """Note every condition that never holds and every way that is never taken."""
        for body in (*bodies.teams.values(), *bodies.plans.values()):
            self._steps(body)
            if body.team is not None and body.team.routing is not None:
                self._rules(body.team, body.team.routing)

    def _rules(self, team: Team, routing: Routing) -> None:
        path = (*TEAMS, team.id, "routing")
        worlds = self.graph.worlds[team.id]
        ways = [
            Alternative(rule.condition, (*path, "rules", number))
            for number, rule in enumerate(routing.rules)
        ]
        usable = {exit.rule for exit in self.graph.exits[team.id] if exit.usable}
        self._ways(ways, "rule", worlds, usable)
        if routing.default is None:
            return
        for number, way in enumerate(ways, 1):
            if not can_hold((way.passed,), worlds, self.effort):
                place = (*path, "default")
                self.problems.add(
                    "W504",
                    self.tree.find(place).at,
                    place,
                    f"the default is never used: rule {number} always matches, also after a "
                    "failure",
                    fix=f"give rule {number} a condition, or leave the default out",
                )
                return

    def _steps(self, body: Body) -> None:
        """Branches, catch clauses, and `when`, `while`, `until`, `break_when`."""
        worlds = during(body.steps)
        for step, path in body.walked():
            if isinstance(step, BranchStep):
                ways = [
                    Alternative(way.condition, (*path, "branches", number))
                    for number, way in enumerate(step.branches)
                ]
                self._ways(ways, "branch", worlds)
            for condition, place in conditions(step, path):
                if len(place) == len(path) + 1 and not self._possible(condition, worlds):
                    self._never(condition, place, worlds)
            if isinstance(step, TryStep):
                self._clauses(step, path)

    def _clauses(self, step: TryStep, path: NodePath) -> None:
        caught: dict[str, int] = {}
        for number, clause in enumerate(step.catch):
            earlier = [caught.get(error, caught.get("*")) for error in clause.errors]
            numbers = sorted({other for other in earlier if other is not None})
            if numbers and None not in earlier:
                place = (*path, "catch", number)
                self.problems.add(
                    "W504",
                    self.tree.find(place).at,
                    place,
                    f"catch {number + 1} is never used: {_listed('catch', numbers)} already "
                    f"{'takes' if len(numbers) == 1 else 'take'} every failure that it names",
                    fix="put the special clauses before the general one",
                )
            for error in clause.errors:
                caught.setdefault(error, number)

    def _ways(
        self,
        ways: Sequence[Alternative],
        what: str,
        worlds: Worlds,
        usable: Collection[int | None] = (),
    ) -> None:
        for number, way in enumerate(ways):
            if number in usable:
                continue
            if way.condition is not None and not self._possible(way.condition, worlds):
                self._never(way.condition, way.at, worlds)
                continue
            earlier = self._taken_before(ways, number, worlds)
            if earlier:
                self.problems.add(
                    "W504",
                    self.tree.find(way.at).at,
                    way.path,
                    f"{what} {number + 1} is never reached: {_because(what, ways, earlier)}",
                    fix=f"put it before {_listed(what, earlier)}, or leave it out",
                )

    def _taken_before(
        self, ways: Sequence[Alternative], number: int, worlds: Worlds
    ) -> tuple[int, ...]:
        """The earlier ways that are always taken where this one would be."""
        own = ways[number].taken
        if can_hold((own, *(way.passed for way in ways[:number])), worlds, self.effort):
            return ()
        for other in range(number):
            if not can_hold((own, ways[other].passed), worlds, self.effort):
                return (other,)
        needed = list(range(number))
        for other in range(number):
            rest = [ways[n].passed for n in needed if n != other]
            if not can_hold((own, *rest), worlds, self.effort):
                needed.remove(other)
        return tuple(needed)

    def _possible(self, condition: Condition, worlds: Worlds) -> bool:
        return can_hold((formula(condition),), worlds, self.effort)

    def _never(self, condition: Condition, place: NodePath, worlds: Worlds) -> None:
        self.problems.add(
            "W505",
            self.tree.find(place).at,
            place,
            f"this condition can never hold: {self._reason(condition, worlds)}",
            fix="correct it, or leave out what depends on it",
        )

    def _reason(self, condition: Condition, worlds: Worlds) -> str:
        """The fewest parts of it that exclude one another."""
        for part in _parts(condition):
            if not self._possible(part, worlds):
                return _told(part)
        for one, other in combinations(list(_parts(condition))[:_MAX_PARTS], 2):
            if not can_hold((formula(one), formula(other)), worlds, self.effort):
                return f"{_told(one)} excludes {_told(other)}"
        return _told(condition)


def _because(what: str, ways: Sequence[Alternative], earlier: Sequence[int]) -> str:
    if len(earlier) > 1:
        return f"{_listed(what, earlier)} together match whenever it would"
    condition = ways[earlier[0]].condition
    one = _listed(what, earlier)
    if condition is None:
        return f"{one} has no condition and always matches"
    return f"{one} matches whenever it would ({_told(condition)})"


def _listed(what: str, numbers: Sequence[int]) -> str:
    """`rule 1`, or `rules 1, 2 and 4`; counted from 1."""
    *first, last = [str(number + 1) for number in numbers]
    if not first:
        return f"{what} {last}"
    plural = {"branch": "branches", "catch": "catches"}.get(what, f"{what}s")
    return f"{plural} {', '.join(first)} and {last}"


def _parts(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, AllOf):
        for part in condition.all_of:
            yield from _parts(part)
    else:
        yield condition


def _told(condition: Condition) -> str:
    text = condition_text(condition)
    return text if len(text) <= _MAX_CONDITION_LENGTH else f"{text[: _MAX_CONDITION_LENGTH - 3]}..."
