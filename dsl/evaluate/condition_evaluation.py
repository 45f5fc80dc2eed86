"""Condition evaluation: whether a condition holds, and why. Pure, total."""

from collections.abc import Iterator
from itertools import islice
from typing import Final, assert_never

from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed
from coterie.dsl.evaluate.missing_data import missing_outcomes
from coterie.dsl.evaluate.operator_table import OPERATORS, Found, charge
from coterie.dsl.model.causes import (
    ConditionFound,
    ExpressionFound,
    FieldFound,
    GroupFound,
    NegatedFound,
    StatusFound,
    TeamFound,
    ValueFound,
)
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
from coterie.dsl.model.evaluation_budget import EvaluationMeter
from coterie.dsl.model.facts import Facts, Outcomes
from coterie.dsl.paths import MISSING, get, parse
from coterie.dsl.templates.jsonable import beginning, brief, start_at
from coterie.dsl.templates.template import parse as parse_template
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.templates.template_rules import BadTemplate

MAX_FOUND: Final = 60
"""Characters of a value, as JSON, that a cause keeps."""
_MAX_VALUES: Final = 10
"""Values of an expression that a cause keeps."""


def holds(
    condition: Condition,
    facts: Facts,
    meter: EvaluationMeter | None = None,
    *,
    missing_is_false: bool = False,
) -> bool:
    """Return whether the condition holds; all its parts share one budget.

    With `missing_is_false`, an expression that cannot be evaluated and names a task without success
    does not hold.

    Raises:
        TemplateFailed: an expression names something that does not exist.
        EvaluationLimitExceeded: it needs more work than one evaluation may take.
    """
    meter = facts.meter() if meter is None else meter
    return _holds(condition, facts, meter, missing_is_false)


def _holds(
    condition: Condition, facts: Facts, meter: EvaluationMeter, missing_is_false: bool
) -> bool:
    match condition:
        case TaskField():
            return _test_condition(condition, _task_field(condition, facts), meter)
        case ContextField():
            return _test_condition(condition, _context_field(condition, facts), meter)
        case TaskStatus(task=task, status=status):
            outcome = facts.tasks.get(task)
            return outcome is not None and outcome.status == status
        case AllOf(all_of=parts):
            return all(_holds(part, facts, meter, missing_is_false) for part in parts)
        case AnyOf(any_of=parts):
            return any(_holds(part, facts, meter, missing_is_false) for part in parts)
        case Not(negated=part):
            return not _holds(part, facts, meter, missing_is_false)
        case TeamOutcome():
            return _team_outcome(condition, facts)
        case Expression(expression=text):
            return _expression_holds(text, facts, meter, missing_is_false)
        case _:
            assert_never(condition)


def _expression_holds(
    text: str, facts: Facts, meter: EvaluationMeter, missing_is_false: bool
) -> bool:
    try:
        return bool(fill(text, facts.names(meter)))
    except EvaluationLimitExceeded:
        raise
    except TemplateFailed:
        if missing_is_false and missing_outcomes(text, facts):
            return False
        raise


def _test_condition(
    condition: TaskField | ContextField, fact: Found, meter: EvaluationMeter
) -> bool:
    operator, value = condition.operator, condition.value
    try:
        charge(operator, meter, fact, value)
    except EvaluationLimitExceeded as error:
        message = (
            f"the condition {_field_name(condition)} {operator} {brief(value)} is given up: {error}"
        )
        raise EvaluationLimitExceeded(message, bound=error.bound) from None
    return OPERATORS[operator].test(fact, value)


def _task_field(condition: TaskField, facts: Facts) -> Found:
    outcome = facts.tasks.get(condition.task)
    return MISSING if outcome is None else get(outcome.data, parse(condition.output_field))


def _context_field(condition: ContextField, facts: Facts) -> Found:
    return get(facts.context, parse(condition.context_field))


def _field_name(condition: TaskField | ContextField) -> str:
    if isinstance(condition, TaskField):
        return f"{condition.task}.{condition.output_field}"
    return f"context.{condition.context_field}"


def _team_outcome(condition: TeamOutcome, facts: Facts) -> bool:
    tasks = _counted_outcomes(facts)
    ran = [outcome for outcome in tasks.values() if outcome.status != "skipped"]
    match condition.outcome:
        case "all_success":
            return all(outcome.success for outcome in ran)
        case "any_success":
            return any(outcome.success for outcome in ran)
        case "any_failure":
            return any(not outcome.success for outcome in ran)
        case "all_failure":
            return bool(ran) and all(not outcome.success for outcome in ran)
        case _:
            assert_never(condition.outcome)


def _counted_outcomes(facts: Facts) -> Outcomes:
    return facts.tasks if facts.counted is None else facts.counted


def inspect(condition: Condition, facts: Facts) -> ConditionFound:
    """Return the condition with the values that it found."""
    match condition:
        case TaskField():
            return _field_found(condition, _task_field(condition, facts))
        case ContextField():
            return _field_found(condition, _context_field(condition, facts))
        case TaskStatus(task=task, status=status):
            outcome = facts.tasks.get(task)
            return StatusFound("status", task, status, None if outcome is None else outcome.status)
        case AllOf(all_of=parts):
            return GroupFound("all_of", tuple(inspect(part, facts) for part in parts))
        case AnyOf(any_of=parts):
            return GroupFound("any_of", tuple(inspect(part, facts) for part in parts))
        case Not(negated=part):
            return NegatedFound("not", inspect(part, facts))
        case TeamOutcome(outcome=outcome):
            counted = _counted_outcomes(facts).items()
            return TeamFound(
                "team",
                outcome,
                tuple((name, task_outcome.status) for name, task_outcome in counted),
            )
        case Expression(expression=text):
            return ExpressionFound("expression", text, tuple(_values_named(text, facts)))
        case _:
            assert_never(condition)


def _field_found(condition: TaskField | ContextField, value: Found) -> FieldFound:
    name, operator = _field_name(condition), condition.operator
    operand = beginning(condition.value, MAX_FOUND)
    if value is MISSING:
        return FieldFound("field", name, operator, operand, missing=True)
    return FieldFound("field", name, operator, operand, beginning(value, MAX_FOUND))


def _values_named(text: str, facts: Facts) -> Iterator[ValueFound]:
    """Yield the value at each path that the expression names."""
    try:
        paths = parse_template(text).paths
    except BadTemplate:
        return
    roots = facts.roots()
    for path in islice(paths, _MAX_VALUES):
        name, value = ".".join(path), start_at(roots, path, MAX_FOUND)
        if value is MISSING:
            yield ValueFound(name, missing=True)
        else:
            yield ValueFound(name, value)
