"""The calculator's numbers: exact as long as they can be, and bounded to the last bit."""

import math
from fractions import Fraction
from pathlib import Path

import pytest

from coterie.activities.tool_functions.compute.arithmetic import (
    MAX_BITS,
    MAX_FACTORIAL,
    ArithmeticProblem,
    NotArithmetic,
    Number,
    evaluate,
)
from coterie.activities.tool_functions.compute.calculator import Calculation, compute
from coterie.activities.workspace.function_base import FunctionContext, Workspace

CONTEXT = FunctionContext(Workspace(Path("/nowhere")), key="call")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("+3", 3),
        ("1/2*4", 2),
        ("pi/2", math.pi / 2),
        ("1/tau", 1 / math.tau),
        ("1/3", Fraction(1, 3)),
        ("floor(-1/2)", -1),
        ("floor(pi)", 3),
        ("min(3, 1, 2)", 1),
        ("max(3, 1, 2, 4)", 4),
        ("min(7)", 7),
        ("sqrt(0)", 0),
        ("sqrt(1/4)", Fraction(1, 2)),
        ("sqrt(4/9)", Fraction(2, 3)),
        ("sqrt(0.25)", Fraction(1, 2)),
        ("sqrt(1/2)", math.sqrt(0.5)),
        ("sqrt(2/9)", math.sqrt(2 / 9)),
        ("sqrt(pi)", math.sqrt(math.pi)),
        ("perm(5, 2)", 20),
        ("comb(5, 2)", 10),
        ("lcm(4, 6)", 12),
        ("gcd(4, 6)", 2),
        ("round(5/2)", 2),
        ("round(125, -1)", 120),
        ("2^-2", Fraction(1, 4)),
        ("2^0.5", math.sqrt(2)),
        ("4^(1/2)", 2.0),
        ("pi^2", math.pi**2),
        ("4^(6/3)", 16),
        ("0^100000", 0),
        ("1^100000", 1),
        ("(-1)^100001", -1),
        ("(-2)^3", -8),
    ],
)
def test_an_expression_has_its_plainest_value(expression: str, value: Number) -> None:
    found = evaluate(expression)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("fits", "exceeds"),
    [
        (f"2^{MAX_BITS // 2} * 2^{MAX_BITS // 2 - 1}", f"2^{MAX_BITS // 2} * 2^{MAX_BITS // 2}"),
        (f"2^{MAX_BITS // 2}", f"2^{MAX_BITS // 2 + 1}"),
        (f"3^{MAX_BITS // 2}", f"3^{MAX_BITS // 2 + 1}"),
        (f"0.5^{MAX_BITS // 2}", f"0.5^{MAX_BITS // 2 + 1}"),
        (f"2^-{MAX_BITS // 2}", f"2^-{MAX_BITS // 2 + 1}"),
        (f"factorial({MAX_FACTORIAL})", f"factorial({MAX_FACTORIAL + 1})"),
        ("round(1/3, 1000)", "round(1/3, 4097)"),
        ("round(1, 4096)", "round(1, 4097)"),
        ("round(1, -4096)", "round(1, -4097)"),
        ("1e308", "1e309"),
        ("exp(709)", "exp(710)"),
    ],
)
def test_a_number_has_a_value_up_to_the_bound(fits: str, exceeds: str) -> None:
    evaluate(fits)
    with pytest.raises(ArithmeticProblem):
        evaluate(exceeds)


def test_a_mistake_has_its_column() -> None:
    with pytest.raises(NotArithmetic, match=r" at column \d"):
        evaluate("1 1")


@pytest.mark.parametrize(
    ("expression", "value", "text", "exact"),
    [
        ("2^53", 2**53, str(2**53), True),
        ("-(2^53)", -(2**53), str(-(2**53)), True),
        ("2^53+2", float(2**53 + 2), str(2**53 + 2), True),
        ("1/8", 0.125, "0.125", True),
        ("1/125", 0.008, "0.008", True),
        ("1234567890123456789012345678901/2", 617283945061728394506172839450.5,
         "617283945061728394506172839450.5", True),
        ("1/40", 0.025, "0.025", True),
        ("2/3", 2 / 3, "0." + "6" * 29 + "7", False),
        ("-1/6", -1 / 6, "-0.1" + "6" * 28 + "7", False),
        ("1/1024", 1 / 1024, "0.0009765625", True),
        ("10^400", None, "1" + "0" * 400, True),
        ("pi", math.pi, "3.141592653589793", False),
    ],
)  # fmt: skip
async def test_a_value_has_its_decimal_form(
    expression: str, value: float | None, text: str, exact: bool
) -> None:
    found = await compute(Calculation(expression=expression), CONTEXT)
    assert (found.value, type(found.value)) == (value, type(value))
    assert (found.text, found.exact) == (text, exact)
