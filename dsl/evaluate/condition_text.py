"""Conditions in words, without the facts of a run."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from pydantic import JsonValue

from coterie.dsl.evaluate.operator_table import WITHOUT_VALUE
from coterie.dsl.model.conditions import (
    AllOf,
    AnyOf,
    Condition,
    ContextField,
    Expression,
    Not,
    Operator,
    Status,
    TaskField,
    TaskStatus,
    TeamEnd,
    TeamOutcome,
)

_MAX_VALUE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Wording:
    """The words for each kind of test; the words that join tests are always the same."""

    test: Callable[[str, Operator, JsonValue], str]
    """Of `(task.path or context.path, operator, value)`."""
    status: Callable[[str, Status], str]
    """Of `(task, status)`."""
    outcome: Callable[[TeamEnd], str]
    expression: Callable[[str], str]


def condition_text(condition: Condition, wording: Wording | None = None) -> str:
    """Return `review.status equals "FAIL" and approve is success`, or another wording."""
    words = wording or WRITTEN
    match condition:
        case TaskField(task=task, output_field=path, operator=operator, value=value):
            return words.test(f"{task}.{path}", operator, value)
        case ContextField(context_field=path, operator=operator, value=value):
            return words.test(f"context.{path}", operator, value)
        case TaskStatus(task=task, status=status):
            return words.status(task, status)
        case AllOf(all_of=parts):
            return " and ".join(part_text(part, words) for part in parts) or "no conditions"
        case AnyOf(any_of=parts):
            return " or ".join(part_text(part, words) for part in parts) or "none of no conditions"
        case Not(negated=part):
            return f"not {part_text(part, words)}"
        case TeamOutcome(outcome=outcome):
            return words.outcome(outcome)
        case Expression(expression=text):
            return words.expression(text)
        case _:
            assert_never(condition)


def part_text(condition: Condition, wording: Wording) -> str:
    """Return the text of a condition within another one."""
    text = condition_text(condition, wording)
    return f"({text})" if isinstance(condition, AllOf | AnyOf) else text


def value_text(value: object) -> str:
    """Return a value in one short line; a template stays unchanged."""
    text = (
        value if isinstance(value, str) and "{{" in value else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[: _MAX_VALUE_LENGTH - 3]}..."


def expression_words(text: str) -> str:
    """Return a template on one line, without braces if it is a single expression."""
    flat = " ".join(text.split())
    inner = flat.removeprefix("{{").removesuffix("}}").strip("- ")
    single = flat.startswith("{{") and flat.endswith("}}") and "{{" not in inner
    return inner if single else flat


def _test(name: str, operator: Operator, value: JsonValue) -> str:
    if operator in WITHOUT_VALUE and value is None:
        return f"{name} {operator}"
    return f"{name} {operator} {value_text(value)}"


WRITTEN = Wording(
    test=_test,
    status=lambda task, status: f"{task} is {status}",
    outcome=lambda outcome: outcome,
    expression=lambda text: text,
)
"""The wording of the document: its own names of operators and outcomes."""
