"""Shorten conditions to labels for arrows."""

from collections.abc import Iterator

from pydantic import JsonValue

from dsl.evaluate.condition_text import Wording, condition_text, part_text, value_text
from dsl.model.conditions import AllOf, Condition, Operator, Status, TeamEnd

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
_OPERATOR: dict[Operator, str] = {
    "equals": "=",
    "not_equals": "≠",
    "greater_than": ">",
    "less_than": "<",
    "greater_or_equal": "≥",
    "less_or_equal": "≤",
    "contains": "contains",
    "contains_any": "contains any of",
    "contains_all": "contains all of",
    "starts_with": "starts with",
    "ends_with": "ends with",
    "matches": "matches",
    "in": "is one of",
    "in_range": "is within",
    "is_type": "is of type",
    "has_length": "has length",
    "min_length": "has length ≥",
    "max_length": "has length ≤",
}
"""Operators that compare with a value."""
_YES_NO: dict[Operator, tuple[str, str]] = {
    "exists": ("exists", "does not exist"),
    "is_empty": ("is empty", "is not empty"),
    "is_null": ("is null", "is not null"),
}
"""Operators with a yes/no result; the value `false` negates them."""


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
    if operator in _YES_NO:
        return f"{name} {_YES_NO[operator][value is False]}"
    return f"{name} {_OPERATOR[operator]} {value_text(value)}"


def expression_words(text: str) -> str:
    """Return a template on one line, without braces if it is a single expression."""
    flat = " ".join(text.split())
    inner = flat.removeprefix("{{").removesuffix("}}").strip("- ")
    single = flat.startswith("{{") and flat.endswith("}}") and "{{" not in inner
    return inner if single else flat


_SHORT = Wording(
    test=_test,
    status=lambda task, status: f"{task} {_STATUS[status]}",
    outcome=lambda outcome: _OUTCOME[outcome],
    expression=expression_words,
)
