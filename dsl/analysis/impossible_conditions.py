"""Conditions that can never hold, and alternatives that earlier ones always preempt."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import NamedTuple

from coterie.dsl.analysis.routes.team_graph import Teams
from coterie.dsl.analysis.variable_scopes import TEAMS, Bodies, Body
from coterie.dsl.evaluate.condition_text import condition_text
from coterie.dsl.logic.formulas import Formula
from coterie.dsl.logic.possible_statuses import during
from coterie.dsl.logic.solver import Effort, Statuses, can_hold
from coterie.dsl.logic.translation import formula
from coterie.dsl.model.conditions import AllOf, Condition
from coterie.dsl.model.plan import Routing, Team
from coterie.dsl.model.steps import BranchStep, TryStep
from coterie.dsl.model.traversal.step_walk import conditions
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.values import NodePath

_MAX_PARTS = 12
Worlds = Sequence[Statuses]


class Alternative(NamedTuple):
    """One of several alternatives; a run takes the first whose condition holds."""

    condition: Condition | None
    path: NodePath
    """Of the rule or branch."""
    taken: Formula
    passed: Formula

    @property
    def at(self) -> NodePath:
        """Return the location to report when the alternative is never taken."""
        return self.path if self.condition is None else (*self.path, "condition")


_MAX_CONDITION_LENGTH = 100


def shortened(condition: str) -> str:
    """Return the text of a condition, cut if it is too long for a sentence."""
    if len(condition) <= _MAX_CONDITION_LENGTH:
        return condition
    return f"{condition[: _MAX_CONDITION_LENGTH - 3]}..."


def numbered(what: str, numbers: Sequence[int]) -> str:
    """Return `rule 1`, or `rules 1, 2 and 4`; counted from 1."""
    *first, last = [str(number + 1) for number in numbers]
    if not first:
        return f"{what} {last}"
    plural = {"branch": "branches", "catch": "catches"}.get(what, f"{what}s")
    return f"{plural} {', '.join(first)} and {last}"


@rule("W504")
def default_unused(rule: int) -> ProblemText:
    return ProblemText(
        f"the default is never used: rule {rule} always matches, also after a failure",
        fix=f"give rule {rule} a condition, or remove the default",
    )


@rule("W504")
def clause_unused(number: int, earlier: Sequence[int]) -> ProblemText:
    takes = "takes" if len(earlier) == 1 else "take"
    return ProblemText(
        f"catch {number + 1} is never used: {numbered('catch', earlier)} already {takes} every "
        "failure that it names",
        fix="put the special clauses before the general one",
    )


@rule("W504")
def alternative_unreached(
    what: str, number: int, earlier: Sequence[int], condition: str | None
) -> ProblemText:
    before = numbered(what, earlier)
    if len(earlier) > 1:
        why = f"{before} together match whenever it would"
    elif condition is None:
        why = f"{before} has no condition and always matches"
    else:
        why = f"{before} matches whenever it would ({shortened(condition)})"
    return ProblemText(
        f"{what} {number + 1} is never reached: {why}", fix=f"put it before {before}, or remove it"
    )


@rule("W505")
def impossible_condition(parts: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"this condition can never hold: {' excludes '.join(map(shortened, parts))}",
        fix="correct it, or remove what depends on it",
    )


@dataclass(frozen=True, slots=True)
class Choices:
    """The check of the choices in one document."""

    graph: Teams
    tree: Node
    problems: Problems
    effort: Effort

    def check(self, bodies: Bodies) -> None:
        """Report every condition that never holds and every alternative that is never taken."""
        for body in (*bodies.teams.values(), *bodies.plans.values()):
            self._steps(body)
            if body.team is not None and body.team.routing is not None:
                self._rules(body.team, body.team.routing)

    def _rules(self, team: Team, routing: Routing) -> None:
        path = (*TEAMS, team.id, "routing")
        worlds = self.graph.worlds[team.id]
        subject = (*TEAMS, team.id)
        formulas = self.graph.formulas[team.id]
        alternatives = [
            Alternative(rule.condition, (*path, "rules", number), when_taken, when_passed)
            for number, (rule, when_taken, when_passed) in enumerate(
                zip(routing.rules, formulas.taken, formulas.passed, strict=True)
            )
        ]
        usable = {exit.rule for exit in self.graph.exits[team.id] if exit.usable}
        self._alternatives(alternatives, "rule", worlds, subject, usable)
        if routing.default is None:
            return
        for number, alternative in enumerate(alternatives, 1):
            if not can_hold((alternative.passed,), worlds, self.effort, subject):
                key_path = (*path, "default")
                self.problems.report(default_unused(number), self.tree.key_at(key_path))
                return

    def _steps(self, body: Body) -> None:
        """Check branches, catch clauses, and `when`, `while`, `until`, `break_when`."""
        worlds = during(body.steps)
        subject = body.path[:-1]
        for step, path in body.steps_with_paths:
            if isinstance(step, BranchStep):
                alternatives = [
                    Alternative(
                        branch.condition,
                        (*path, "branches", number),
                        formula(branch.condition),
                        formula(branch.condition, False),
                    )
                    for number, branch in enumerate(step.branches)
                ]
                self._alternatives(alternatives, "branch", worlds, subject)
            for condition, inner_path in conditions(step, path):
                own = len(inner_path) == len(path) + 1
                if own and not self._possible((formula(condition),), worlds, subject):
                    self._never(condition, inner_path, worlds, subject)
            if isinstance(step, TryStep):
                self._clauses(step, path)

    def _clauses(self, step: TryStep, path: NodePath) -> None:
        caught: dict[str, int] = {}
        for number, clause in enumerate(step.catch):
            earlier = [caught.get(error, caught.get("*")) for error in clause.errors]
            numbers = sorted({other for other in earlier if other is not None})
            if numbers and None not in earlier:
                key_path = (*path, "catch", number)
                self.problems.report(clause_unused(number, numbers), self.tree.key_at(key_path))
            for error in clause.errors:
                caught.setdefault(error, number)

    def _alternatives(
        self,
        alternatives: Sequence[Alternative],
        what: str,
        worlds: Worlds,
        subject: NodePath,
        usable: Collection[int | None] = (),
    ) -> None:
        for number, alternative in enumerate(alternatives):
            if number in usable:
                continue
            if alternative.condition is not None and not self._possible(
                (alternative.taken,), worlds, subject
            ):
                self._never(alternative.condition, alternative.at, worlds, subject)
                continue
            earlier = self._taken_before(alternatives, number, worlds, subject)
            if earlier:
                self.problems.report(
                    alternative_unreached(
                        what, number, earlier, _text(alternatives[earlier[0]].condition)
                    ),
                    Place(self.tree.find(alternative.at).at, alternative.path),
                )

    def _taken_before(
        self, alternatives: Sequence[Alternative], number: int, worlds: Worlds, subject: NodePath
    ) -> tuple[int, ...]:
        """Return the earlier alternatives that together always preempt this one."""
        own = alternatives[number].taken
        before = (alternative.passed for alternative in islice(alternatives, number))
        if self._possible(chain((own,), before), worlds, subject):
            return ()
        for other in range(number):
            if not self._possible((own, alternatives[other].passed), worlds, subject):
                return (other,)
        needed = list(range(number))
        for other in range(number):
            rest = (alternatives[n].passed for n in needed if n != other)
            if not self._possible(chain((own,), rest), worlds, subject):
                needed.remove(other)
        return tuple(needed)

    def _possible(self, formulas: Iterable[Formula], worlds: Worlds, subject: NodePath) -> bool:
        return can_hold(formulas, worlds, self.effort, subject)

    def _never(
        self, condition: Condition, path: NodePath, worlds: Worlds, subject: NodePath
    ) -> None:
        reason = self._reason(condition, worlds, subject)
        self.problems.report(impossible_condition(reason), self.tree.key_at(path))

    def _reason(self, condition: Condition, worlds: Worlds, subject: NodePath) -> tuple[str, ...]:
        """Return the fewest parts that exclude one another."""
        for part in _parts(condition):
            if not self._possible((formula(part),), worlds, subject):
                return (condition_text(part),)
        for first, second in combinations(list(_parts(condition))[:_MAX_PARTS], 2):
            if not self._possible((formula(first), formula(second)), worlds, subject):
                return condition_text(first), condition_text(second)
        return (condition_text(condition),)


def _text(condition: Condition | None) -> str | None:
    return None if condition is None else condition_text(condition)


def _parts(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, AllOf):
        for part in condition.all_of:
            yield from _parts(part)
    else:
        yield condition
