"""Routing gaps: the outcomes that no rule of a team without a default covers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from coterie.dsl.logic.formulas import Formula
from coterie.dsl.logic.possible_statuses import after_failures, after_success
from coterie.dsl.logic.solver import Effort, Statuses, can_hold
from coterie.dsl.logic.translation import formula
from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.steps import Step
from coterie.dsl.values import NodePath


class RoutingGaps(NamedTuple):
    """The outcomes that no rule of a team without a default covers."""

    after_success: bool
    """The team may succeed and no rule match."""
    after_failure: tuple[str, ...]
    """The tasks whose failure certainly matches no rule."""


def holes(
    steps: Sequence[Step],
    stop_on_failure: bool,
    rules: Sequence[Condition | None],
    effort: Effort,
    subject: NodePath = (),
) -> RoutingGaps:
    """Find the outcomes that no rule of a team covers; none once the effort is used up.

    Args:
        steps: The team's tasks.
        stop_on_failure: The setting of the team.
        rules: The condition of each rule; None always holds.
        effort: The effort left for the question.
        subject: The team.
    """
    some = [_condition_formula(rule, True) for rule in rules]
    none = [_condition_formula(rule, False) for rule in rules]
    if effort.left <= 0:
        effort.leave_out(subject)
        return RoutingGaps(after_success=False, after_failure=())
    passes = can_hold(none, [after_success(steps)], effort, subject)
    failing = [
        step.name
        for step, after in after_failures(steps, stop_on_failure, effort)
        if not _any_can_hold(some, after, effort, subject)
    ]
    return RoutingGaps(passes, tuple(failing))


def _any_can_hold(
    rules: Sequence[Formula], after: Callable[[], Statuses], effort: Effort, subject: NodePath
) -> bool:
    """Return False only when no rule can hold after a failure."""
    if effort.left <= 0:
        effort.leave_out(subject)
        return True
    world = after()
    return any(can_hold((rule,), [world], effort, subject) for rule in rules)


def _condition_formula(condition: Condition | None, holds: bool) -> Formula:
    return holds if condition is None else formula(condition, holds)
