"""What the tests of operators cost of the evaluation budget."""

from collections.abc import Callable

from pydantic import JsonValue

from coterie.dsl.evaluate.operators.operator_tests import Found, each
from coterie.dsl.model.evaluation_budget import EvaluationMeter
from coterie.dsl.paths import MISSING
from coterie.dsl.regular_expressions import match_steps
from coterie.dsl.templates.value_costs import charge_comparison, charge_membership

Charge = Callable[[EvaluationMeter, Found, JsonValue], None]


def comparison(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge for a comparison of both values."""
    charge_comparison(meter, value, found)


def membership(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge for a search for the value within what is found."""
    if found is not MISSING:
        charge_membership(meter, value, found)


def membership_of_each(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge for a search for each of the values."""
    for item in each(value):
        membership(meter, found, item)


def membership_in_value(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge for a search for what is found within the value."""
    membership(meter, value, None if found is MISSING else found)


def pattern_match(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge for the steps of a regular expression."""
    if isinstance(found, str) and isinstance(value, str):
        meter.charge(match_steps(value, found))


def nothing(meter: EvaluationMeter, found: Found, value: JsonValue) -> None:
    """Charge nothing more: the test reads at most as much as the plan's own text has."""
    del meter, found, value
