"""The calculator: exact results, bounded work, and no way to run code."""

import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.compute.arithmetic import (
    MAX_BITS,
    ArithmeticProblem,
    NotArithmetic,
    evaluate,
)
from coterie.activities.workspace.function_base import Workspace
from tests.support.tool_functions import call, refusal

VALUES: dict[str, tuple[float | None, str, bool]] = {
    "2*(3+4)": (14, "14", True),
    "0.1+0.2": (0.3, "0.3", True),
    "2^3+1": (9, "9", True),
    "-2^2": (-4, "-4", True),
    "2**10": (1024, "1024", True),
    "7//2": (3, "3", True),
    "-7%3": (2, "2", True),
    "1/3": (1 / 3, "0." + "3" * 30, False),
    "sqrt(16)": (4, "4", True),
    "sqrt(2)": (math.sqrt(2), "1.4142135623730951", False),
    "5 \u00d7 3 \u00f7 2 \u2212 1": (6.5, "6.5", True),
    "2^53+1": (2.0**53, "9007199254740993", True),
    "1e308*10": (None, "1" + "0" * 309, True),
    "round(2.567, 2)": (2.57, "2.57", True),
    "comb(50, 25)": (126410606437752, "126410606437752", True),
    "ln(e) + sum(1, 2, 1/2) + abs(-3) + ceil(0.5) + gcd(12, 18)": (14.5, "14.5", False),
    "max(1, 2.5) + min(4)": (6.5, "6.5", True),
    "log(8, 2) + 2*pi - tau": (3.0, "3.0", False),
}


@pytest.mark.parametrize("expression", VALUES)
async def test_calculator_computes_the_value(expression: str, tmp_path: Path) -> None:
    value, text, exact = VALUES[expression]
    assert await call(Workspace(tmp_path), "Calculator.evaluate", {"expression": expression}) == {
        "value": value,
        "text": text,
        "exact": exact,
    }


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true')",
        "open('/etc/passwd').read()",
        "(1).__class__.__mro__",
        "().__class__",
        "[x for x in (1, 2)]",
        "lambda: 1",
        "'a' * 9",
        "f'{1}'",
        "eval('1')",
        "x := 1",
        "1 if 2 else 3",
        "1 < 2",
        "True + 1",
        "1j * 1j",
        "2 << 3",
        "sin(x=1)",
        "sin(*[1])",
        "2 pi",
        "2pi",
        "3(4)",
        "0x10",
        "1 +",
        "",
        "2; 3",
        "(" * 300 + "1" + ")" * 300,
        "-" * 990 + "1",
        "sin(1, 2)",
        "factorial(2.5)",
        "unknown(1)",
        "\0",
    ],
)
def test_calculator_refuses_what_is_not_arithmetic(expression: str) -> None:
    with pytest.raises(NotArithmetic):
        evaluate(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9",
        "9^9^9^9",
        "2**4095 * 2",
        "2 ** -4096",
        "0.5 ** 5000",
        "factorial(401)",
        "factorial(factorial(20))",
        "comb(10**9, 5)",
        "exp(1000)",
        "1e400",
        "2 ** 5000.5",
        "round(1/3, 100000)",
        "10 ** 1000 ** 10",
        "1/0",
        "0 ^ -1",
        "5 % 0",
        "sqrt(-1)",
        "(-8) ^ (1/3)",
        "ln(0)",
        "acos(2)",
    ],
)
def test_calculator_bounds_every_number_and_reports_missing_values(expression: str) -> None:
    with pytest.raises(ArithmeticProblem):
        evaluate(expression)


async def test_calculator_names_the_allowed_parts_and_the_reason(tmp_path: Path) -> None:
    error = await refusal(Workspace(tmp_path), "Calculator.evaluate", {"expression": "sine(1)"})
    assert error.type == FailureType.FUNCTION_REFUSED
    assert "unknown function 'sine'; functions: abs, round" in error.message
    error = await refusal(Workspace(tmp_path), "Calculator.evaluate", {"expression": "1/(2-2)"})
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_FAILED, True)
    assert error.message == "the expression has no value: division by zero"
    error = await refusal(Workspace(tmp_path), "Calculator.evaluate", {"expression": "1" * 1001})
    assert "at most 1000 characters" in error.message


LEAVES = st.integers(0, 10**6).map(str) | st.decimals(0, 1000, places=3).map(str)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(
        "({0[0]} {0[1]} {0[2]})".format
    ),
    max_leaves=12,
)


@given(EXPRESSIONS)
def test_calculator_agrees_with_exact_fractions(expression: str) -> None:
    numbers = expression.replace("(", " ( ").replace(")", " ) ").split()
    exact = " ".join(f"F('{one}')" if one[0].isdigit() else one for one in numbers)
    assert evaluate(expression) == eval(exact, {"F": Fraction})


@given(st.text(alphabet="0123456789+-*/%^().,e sqrtpilogmxan_'[]", max_size=80))
def test_calculator_answers_any_text_with_a_bounded_number_or_a_named_problem(text: str) -> None:
    try:
        value = evaluate(text)
    except (NotArithmetic, ArithmeticProblem):
        return
    assert isinstance(value, float) or value.numerator.bit_length() <= MAX_BITS
