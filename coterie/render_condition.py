"""Conditions, values and durations as a person says them."""

import json
from typing import assert_never

from dsl.conditions import (
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


def condition_text(condition: Condition) -> str:
    """A condition as a person says it."""
    match condition:
        case TaskField():
            name = f"{condition.task}.{condition.output_field}"
            return _test(name, condition.operator, condition.value)
        case ContextField():
            name = f"context.{condition.context_field}"
            return _test(name, condition.operator, condition.value)
        case TaskStatus():
            return f"{condition.task} ended with {condition.status}"
        case AllOf(all_of=parts):
            return " and ".join(_part(part) for part in parts)
        case AnyOf(any_of=parts):
            return " or ".join(_part(part) for part in parts)
        case Not(negated=part):
            return f"not {_part(part)}"
        case TeamOutcome():
            return condition.outcome
        case Expression():
            return condition.expression
        case _:
            assert_never(condition)


def _part(condition: Condition) -> str:
    text = condition_text(condition)
    return f"({text})" if isinstance(condition, AllOf | AnyOf) else text


def _test(name: str, operator: str, value: object) -> str:
    if operator in ("exists", "is_empty", "is_null") and value is None:
        return f"{name} {operator}"
    return f"{name} {operator} {value_text(value)}"


def value_text(value: object) -> str:
    """A value in one short line; a template stays as it is written."""
    text = value if isinstance(value, str) and "{{" in value else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def duration(seconds: float) -> str:
    """Seconds as people say them: `0.4 s`, `42 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`."""
    if seconds < 10:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    rest = round(seconds)
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])
