"""Shorten conditions to labels for arrows."""

from collections.abc import Iterator

from pydantic import JsonValue

from coterie.dsl.evaluate.condition_text import (
    Wording,
    condition_text,
    expression_words,
    part_text,
    value_text,
)
from coterie.dsl.evaluate.operator_table import OPERATORS
from coterie.dsl.model.conditions import AllOf, Condition, Operator, Status, TeamEnd

_STATUS: dict[Status, str] = {
    "success": "succeeded",
    "failure": "failed",
    "skipped": "was skipped",
}
_OUTCOME: dict[TeamEnd, str] = {
    "all_success": "all tasks succeeded",
    "any_success": "a task succeeded",
    "any_failure": "a task failed",
    "all_failure": "all tasks failed",
}


def condition_words(condition: Condition | None) -> tuple[str, ...]:
    """Describe a condition; one text for each part that must hold."""
    match condition:
        case None:
            return ("always",)
        case AllOf(all_of=parts):
            return tuple(_flat(parts)) or ("always",)
        case _:
            return (condition_text(condition, _SHORT),)


def _flat(parts: tuple[Condition, ...]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, AllOf):
            yield from _flat(part.all_of)
        else:
            yield part_text(part, _SHORT)


def _test(name: str, operator: Operator, value: JsonValue) -> str:
    row = OPERATORS[operator]
    if row.negated is not None:
        return f"{name} {row.negated if value is False else row.wording}"
    return f"{name} {row.wording} {value_text(value)}"


_SHORT = Wording(
    test=_test,
    status=lambda task, status: f"{task} {_STATUS[status]}",
    outcome=lambda outcome: _OUTCOME[outcome],
    expression=expression_words,
)
