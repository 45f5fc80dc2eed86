"""Evidence: every test of a decision, with what it found. Pure, for people.

`condition_evaluation` and `routing` decide; this module shows which rule held and which did not,
down to the single test.
"""

from dataclasses import dataclass
from typing import Literal, assert_never

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.evaluate.because import condition_because
from coterie.dsl.evaluate.condition_evaluation import holds, inspect
from coterie.dsl.evaluate.routing import counted
from coterie.dsl.model.causes import ConditionFound
from coterie.dsl.model.conditions import (
    AllOf,
    AnyOf,
    Condition,
    ContextField,
    Expression,
    Not,
    TaskField,
    TaskStatus,
    TeamOutcome,
)
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.plan import Team
from coterie.dsl.model.steps import BranchStep


@dataclass(frozen=True, slots=True)
class Examined:
    """A condition and its result."""

    asked: Literal["all of", "any of", "not", "test"]
    holds: bool
    finding: str = ""
    """The test with what it found, or why it failed."""
    parts: tuple["Examined", ...] = ()
    found: ConditionFound | None = None
    """What the test found, as facts; None for a group, and for a test that failed."""


@dataclass(frozen=True, slots=True)
class TriedAlternatives:
    """One of several alternatives that were tried in order."""

    number: int
    """From 1."""
    leads_to: str | None
    """The next team or teams, None for the end of the run; the first step of a branch."""
    taken: bool | None
    """None: not evaluated, because an earlier alternative was taken."""
    condition: Examined | None = None
    """None: an alternative without a condition."""


def examine(condition: Condition, facts: Facts) -> Examined:
    """Evaluate every part of a condition."""
    match condition:
        case AllOf(all_of=parts):
            results = tuple(examine(part, facts) for part in parts)
            return Examined("all of", all(result.holds for result in results), "", results)
        case AnyOf(any_of=parts):
            results = tuple(examine(part, facts) for part in parts)
            return Examined("any of", any(result.holds for result in results), "", results)
        case Not(negated=part):
            inner = examine(part, facts)
            return Examined("not", not inner.holds, "", (inner,))
        case TaskField() | ContextField() | TaskStatus() | TeamOutcome() | Expression():
            return _test(condition, facts)
        case _:
            assert_never(condition)


def _test(condition: Condition, facts: Facts) -> Examined:
    finding = inspect(condition, facts)
    try:
        return Examined("test", holds(condition, facts), condition_because(finding), found=finding)
    except TemplateFailed as error:
        return Examined("test", False, str(error))


def rules(team: Team, facts: Facts) -> tuple[TriedAlternatives, ...]:
    """Return the team's rules, evaluated with the same facts as in `choose`."""
    if team.routing is None:
        return ()
    facts = counted(team, facts)
    conditions = [rule.condition for rule in team.routing.rules]
    ends = [rule.next_team for rule in team.routing.rules]
    leads_to = [", ".join(end) if isinstance(end, tuple) else end for end in ends]
    return _in_order(conditions, leads_to, facts)


def alternatives(step: BranchStep, facts: Facts) -> tuple[TriedAlternatives, ...]:
    """Return the alternatives of a `branch` step, evaluated in order."""
    leads_to = [branch.steps[0].name if branch.steps else None for branch in step.branches]
    return _in_order([branch.condition for branch in step.branches], leads_to, facts)


def _in_order(
    conditions: list[Condition | None] | list[Condition], leads_to: list[str | None], facts: Facts
) -> tuple[TriedAlternatives, ...]:
    attempts: list[TriedAlternatives] = []
    open_still = True
    for number, (condition, end) in enumerate(zip(conditions, leads_to, strict=True), 1):
        if not open_still:
            attempts.append(TriedAlternatives(number, end, None))
            continue
        result = None if condition is None else examine(condition, facts)
        is_taken = result is None or result.holds
        attempts.append(TriedAlternatives(number, end, is_taken, result))
        open_still = not is_taken
    return tuple(attempts)
