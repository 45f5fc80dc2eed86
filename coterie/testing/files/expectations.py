"""Evaluate checks of found values, with the operators of the language's conditions."""

import json
from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue

from coterie.dsl.errors import listed, nearest
from coterie.dsl.evaluate.operator_table import (
    OPERATORS,
    SHORT_NAMES,
    Found,
    unusable_pattern,
    wrong_value,
)
from coterie.dsl.model.conditions import Operator
from coterie.dsl.paths import MISSING
from coterie.dsl.problem_details import Details, ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.values import NodePath, seconds


def asked(check: JsonValue) -> tuple[tuple[Operator, JsonValue], ...]:
    """Convert a check to operators with values; a plain value means `equals`."""
    if not isinstance(check, Mapping):
        return (("equals", check),)
    return tuple((_full(name), value) for name, value in check.items())


def holds(check: JsonValue, found: Found) -> bool:
    """Return whether every operator of the check holds."""
    return all(OPERATORS[operator].test(found, value) for operator, value in asked(check))


def check_text(check: JsonValue) -> str:
    """Describe a check: `'PASS'`, or `contains "x" and min_length 3`."""
    if not isinstance(check, Mapping):
        return shown(check)
    return " and ".join(
        operator if value is None else f"{operator} {shown(value)}"
        for operator, value in asked(check)
    )


def shown(value: Found, maximum: int = 300) -> str:
    """Format a value on one line, shortened to `maximum` characters with a note."""
    if value is MISSING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= maximum else f"{text[:maximum]}... [{len(text) - maximum:,} more]"


def as_seconds(check: JsonValue) -> JsonValue:
    """Convert durations such as `2d` in a check to seconds."""
    if isinstance(check, Mapping):
        return {name: as_seconds(value) for name, value in check.items()}
    if isinstance(check, list):
        return [as_seconds(value) for value in check]
    try:
        return cast("JsonValue", seconds(check))
    except ValueError:
        return check


@rule("E401")
def unknown_check_operator(operator: str) -> ProblemText:
    return ProblemText(
        f"unknown operator {operator!r}",
        ", ".join(OPERATORS),
        nearest(operator, (*OPERATORS, *SHORT_NAMES))
        or "to compare with a whole mapping, put it below `equals:`",
    )


@rule("E402")
def value_of_check(operator: str, wanted: str, value: JsonValue) -> ProblemText:
    return ProblemText(f"{operator!r} {wanted}, and this is {shown(value, 60)}")


@rule("E403")
def broken_pattern_of_check(text: str, reason: str) -> ProblemText:
    return ProblemText(f"{text!r} is not a regular expression: {reason}")


@rule("E106")
def empty_check() -> ProblemText:
    return ProblemText(
        "a check without operators always holds",
        f"operators: {listed(OPERATORS)}",
        "to find an empty mapping, write `equals: {}`",
    )


def problems_of(node: Node, path: NodePath, problems: Problems, *, time: bool = False) -> None:
    """Report errors in a check: unknown operators, or values that an operator cannot take.

    Args:
        node: The check.
        path: Its path.
        problems: Receives the problems.
        time: Values are durations, so `2d` is a number.
    """
    for key, below in node.entries().items():
        if key not in OPERATORS and key not in SHORT_NAMES:
            problems.report(unknown_check_operator(key), Place(below.at, (*path, key)))
            continue
        value = as_seconds(below.plain()) if time else below.plain()
        wrong = _value_problem(_full(key), value)
        if wrong is not None:
            problems.report(wrong, Place(below.mark, (*path, key)))
    if isinstance(node.value, dict) and not node.value:
        problems.report(empty_check(), Place(node.at, path))


def _value_problem(operator: Operator, value: JsonValue) -> Details | None:
    wrong = wrong_value(operator, value)
    if wrong is not None:
        return value_of_check(operator, wrong, value)
    broken = unusable_pattern(operator, value)
    return None if broken is None else broken_pattern_of_check(broken.text, broken.reason)


def _full(name: str) -> Operator:
    return SHORT_NAMES.get(name, cast("Operator", name))
