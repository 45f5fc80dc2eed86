"""Conditions as formulas, which the solver can hold against each other."""

from typing import assert_never

from dsl.logic.expressions import expression
from dsl.logic.formulas import All, Any, Formula, SomeTask, TaskEnded, joined, tested
from dsl.model.conditions import (
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
from dsl.paths import parse


def formula(condition: Condition, holds: bool = True) -> Formula:
    """What has to be so for the condition to hold, or not to hold.

    It may ask for less than the condition does, never for more: what is impossible here is
    impossible in a run. Where an expression fails instead of deciding, nothing is said.
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
    """A team's outcome in terms of its tasks; skipped ones count as neither."""
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
