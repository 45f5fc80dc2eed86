"""Routing gaps: the outcomes that no rule of a team without a default covers."""

from collections.abc import Sequence
from typing import NamedTuple

from dsl.logic.formulas import Formula
from dsl.logic.possible_statuses import after_failures, after_success
from dsl.logic.solver import Effort, can_hold
from dsl.logic.translation import formula
from dsl.model.conditions import Condition
from dsl.model.steps import Step


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
) -> RoutingGaps:
    """Find the outcomes that no rule of a team covers.

    Args:
        steps: The team's tasks.
        stop_on_failure: The setting of the team.
        rules: The condition of each rule; None always holds.
        effort: The effort left for the question.
    """
    some = [_condition_formula(rule, True) for rule in rules]
    none = [_condition_formula(rule, False) for rule in rules]
    failing = [
        step.name
        for step, world in after_failures(steps, stop_on_failure)
        if not any(can_hold((rule,), [world], effort) for rule in some)
    ]
    return RoutingGaps(can_hold(none, [after_success(steps)], effort), tuple(failing))


def _condition_formula(condition: Condition | None, holds: bool) -> Formula:
    return holds if condition is None else formula(condition, holds)
