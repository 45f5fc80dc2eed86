"""Conditions as a reader says them, without the facts of a run."""

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

_LONGEST = 80


def told(condition: Condition) -> str:
    """`review.status equals "FAIL" and approve is success`, shortened when it is long."""
    text = _told(condition)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _told(condition: Condition) -> str:
    match condition:
        case TaskField(task=task, output_field=path, operator=operator, value=value):
            return _asked(f"{task}.{path}", operator, value)
        case ContextField(context_field=path, operator=operator, value=value):
            return _asked(f"context.{path}", operator, value)
        case TaskStatus(task=task, status=status):
            return f"{task} is {status}"
        case AllOf(all_of=parts):
            return " and ".join(map(_inner, parts)) or "nothing asked"
        case AnyOf(any_of=parts):
            return " or ".join(map(_inner, parts)) or "none of no conditions"
        case Not(negated=part):
            return f"not {_inner(part)}"
        case TeamOutcome(outcome=outcome):
            return outcome
        case Expression(expression=text):
            return text
        case _:
            assert_never(condition)


def _inner(condition: Condition) -> str:
    text = _told(condition)
    return f"({text})" if isinstance(condition, AllOf | AnyOf) else text


def _asked(name: str, operator: str, value: object) -> str:
    shown = "" if value is None else f" {json.dumps(value, ensure_ascii=False)}"
    return f"{name} {operator.replace('_', ' ')}{shown}"
