"""The table of operators: what each tests, takes and costs, and its words.

How each treats a missing value and a wrong type: docs/routing.md, "Operators".
"""

import operator as compare
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.evaluate.operators import operator_charges as charges
from coterie.dsl.evaluate.operators import operator_tests as tests
from coterie.dsl.evaluate.operators import operator_values as values
from coterie.dsl.evaluate.operators.operator_charges import Charge
from coterie.dsl.evaluate.operators.operator_tests import Found, Test
from coterie.dsl.evaluate.operators.operator_values import ValueForm
from coterie.dsl.json_values import json_equal
from coterie.dsl.model.conditions import Operator
from coterie.dsl.model.evaluation_budget import EvaluationMeter
from coterie.dsl.regular_expressions import pattern


class OperatorRow(NamedTuple):
    """All that there is to one operator."""

    test: Test
    charge: Charge
    """What the test costs besides its base price."""
    value: ValueForm
    wording: str
    """Between the names of what is compared: `x contains y`."""
    negated: str | None = None
    """The wording for `value: false`, of an operator that needs no value."""
    short_names: tuple[str, ...] = ()


OPERATORS: dict[Operator, OperatorRow] = {
    "equals": OperatorRow(
        json_equal, charges.comparison, values.ANY, "=", short_names=("eq", "==")
    ),
    "not_equals": OperatorRow(
        tests.differs,
        charges.comparison,
        values.ANY,
        "≠",
        short_names=("ne", "!="),
    ),
    "contains": OperatorRow(tests.contains, charges.membership, values.ANY, "contains"),
    "contains_any": OperatorRow(
        tests.contains_any, charges.membership_of_each, values.LIST, "contains any of"
    ),
    "contains_all": OperatorRow(
        tests.contains_all, charges.membership_of_each, values.LIST, "contains all of"
    ),
    "greater_than": OperatorRow(
        tests.ordered(compare.gt),
        charges.comparison,
        values.COMPARABLE,
        ">",
        short_names=("gt", ">"),
    ),
    "less_than": OperatorRow(
        tests.ordered(compare.lt),
        charges.comparison,
        values.COMPARABLE,
        "<",
        short_names=("lt", "<"),
    ),
    "greater_or_equal": OperatorRow(
        tests.ordered(compare.ge),
        charges.comparison,
        values.COMPARABLE,
        "≥",
        short_names=("ge", "gte", ">="),
    ),
    "less_or_equal": OperatorRow(
        tests.ordered(compare.le),
        charges.comparison,
        values.COMPARABLE,
        "≤",
        short_names=("le", "lte", "<="),
    ),
    "exists": OperatorRow(
        tests.exists, charges.comparison, values.FLAG, "exists", negated="does not exist"
    ),
    "is_empty": OperatorRow(
        tests.is_empty, charges.comparison, values.FLAG, "is empty", negated="is not empty"
    ),
    "is_null": OperatorRow(
        tests.is_null, charges.comparison, values.FLAG, "is null", negated="is not null"
    ),
    "starts_with": OperatorRow(tests.starts_with, charges.nothing, values.TEXT, "starts with"),
    "ends_with": OperatorRow(tests.ends_with, charges.nothing, values.TEXT, "ends with"),
    "matches": OperatorRow(tests.matches, charges.pattern_match, values.PATTERN, "matches"),
    "in": OperatorRow(tests.is_in, charges.membership_in_value, values.CONTAINER, "is one of"),
    "in_range": OperatorRow(tests.in_range, charges.comparison, values.RANGE, "is within"),
    "is_type": OperatorRow(tests.is_type, charges.comparison, values.TYPE, "is of type"),
    "has_length": OperatorRow(
        tests.length(compare.eq), charges.comparison, values.LENGTH, "has length"
    ),
    "min_length": OperatorRow(
        tests.length(compare.ge), charges.comparison, values.LENGTH, "has length ≥"
    ),
    "max_length": OperatorRow(
        tests.length(compare.le), charges.comparison, values.LENGTH, "has length ≤"
    ),
}
"""Everything else about operators draws from here; `tests/law/test_kinds.py` keeps it complete."""

SHORT_NAMES: dict[str, Operator] = {
    short: name for name, row in OPERATORS.items() for short in row.short_names
}
WITHOUT_VALUE = tuple(name for name, row in OPERATORS.items() if row.negated is not None)
"""Operators that need no `value`."""


def charge(operator: Operator, meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge for a test before it is made.

    Raises:
        EvaluationLimitExceeded: the rest of the budget is too small.
    """
    meter.charge(2)
    OPERATORS[operator].charge(meter, found, value)


def wrong_value(operator: Operator, value: JsonValue) -> str | None:
    """Return why the operator never holds with this value, or None; the compiler refuses it."""
    form = OPERATORS[operator].value
    return None if form.fits(value) else form.wanted


class UnusablePattern(NamedTuple):
    """A regular expression that cannot be compiled, and why."""

    text: str
    reason: str


def unusable_pattern(operator: Operator, value: JsonValue) -> UnusablePattern | None:
    """Return the operator's value if it is a regular expression that cannot be used, else None."""
    if not OPERATORS[operator].value.is_pattern or not isinstance(value, str):
        return None
    try:
        pattern(value)
    except ValueError as error:
        return UnusablePattern(value, str(error))
    return None
