"""Conditions as formulas that the solver can compare."""

from typing import assert_never

from coterie.dsl.logic.expressions import expression
from coterie.dsl.logic.formulas import All, Any, Formula, SomeTask, TaskEnded, joined, tested
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
from coterie.dsl.paths import parse


def formula(condition: Condition, holds: bool = True) -> Formula:
    """Return the formula under which the condition holds, or does not hold.

    The formula may require less than the condition does, never more: an impossible formula means an
    impossible condition. A failing expression yields no claim.
    """
    match condition:
        case AllOf(all_of=parts):
            return joined((formula(part, holds) for part in parts), every=holds)
        case AnyOf(any_of=parts):
            return joined((formula(part, holds) for part in parts), every=not holds)
        case Not(negated=part):
            return formula(part, not holds)
        case TaskField(task=task, output_field=path, operator=operator, value=value):
            return tested(("tasks", task, "data", *parse(path)), operator, value, holds)
        case ContextField(context_field=path, operator=operator, value=value):
            return tested(("context", *parse(path)), operator, value, holds)
        case TaskStatus(task=task, status=status):
            return TaskEnded(task, status, holds)
        case TeamOutcome():
            return _outcome(condition, holds)
        case Expression(expression=text):
            return expression(text, holds)
        case _:
            assert_never(condition)


def _outcome(condition: TeamOutcome, holds: bool) -> Formula:
    """Express a team's outcome through its tasks; skipped tasks count as neither."""
    failed, succeeded = SomeTask("failure"), SomeTask("success")
    match condition.outcome:
        case "any_failure":
            return SomeTask("failure", holds)
        case "all_success":
            return SomeTask("failure", not holds)
        case "any_success":
            return SomeTask("success", holds)
        case "all_failure":
            none = SomeTask("success", False)
            return All((failed, none)) if holds else Any((SomeTask("failure", False), succeeded))
        case _:
            assert_never(condition.outcome)
