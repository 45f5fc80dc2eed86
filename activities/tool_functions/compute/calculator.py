"""`Calculator.evaluate`: compute an arithmetic expression exactly, without running code."""

from decimal import Decimal, localcontext
from fractions import Fraction

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.compute.arithmetic import (
    ArithmeticProblem,
    NotArithmetic,
    Number,
    evaluate,
)
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.dsl.values import Documented

DIGITS = 30
"""Digits of a result that has no finite decimal form."""


class Calculation(Documented):
    """What to compute."""

    expression: str = Field(min_length=1, max_length=1000)
    """Numbers, `+ - * / // % ^ ( )`, `pi`, `e`, `tau`, and functions such as `sqrt`, `round`,
    `log`, `sin`, `min`, `factorial`. `^` and `**` are powers."""


class CalculatedValue(Documented):
    """The value."""

    value: int | float | None
    """The value as a number; the nearest one if it has no exact form; null if it is too large for
    JSON readers (beyond 1e308)."""
    text: str
    """The value in decimal notation: all digits of a whole number or a finite decimal, else 30
    digits (17 if a function such as `sqrt` gave a float)."""
    exact: bool
    """Whether `text` is the exact value."""


async def compute(value: Calculation, context: FunctionContext) -> CalculatedValue:
    """Compute an expression.

    Raises:
        FunctionRefusal: It is not arithmetic.
        FunctionFailure: It has no value.
    """
    try:
        number = evaluate(value.expression)
    except NotArithmetic as problem:
        raise FunctionRefusal(f"the expression is invalid: {problem}") from None
    except ArithmeticProblem as problem:
        raise FunctionFailure(f"the expression has no value: {problem}") from None
    text, exact = _decimal_text(number)
    return CalculatedValue(value=_json_number(number), text=text, exact=exact)


_SAFE = 1 << 53
"""The largest whole number that every reader of JSON keeps."""


def _json_number(number: Number) -> int | float | None:
    if isinstance(number, int) and abs(number) <= _SAFE:
        return number
    try:
        return float(number)
    except OverflowError:
        return None


def _decimal_text(number: Number) -> tuple[str, bool]:
    match number:
        case int():
            return str(number), True
        case float():
            return repr(number), False
        case Fraction():
            return _fraction_text(number)


def _fraction_text(number: Fraction) -> tuple[str, bool]:
    """Return the decimal form; it is finite if the denominator has no factors but 2 and 5."""
    rest, places = number.denominator, 0
    for factor in (2, 5):
        count = 0
        while rest % factor == 0:
            rest //= factor
            count += 1
        places = max(places, count)
    finite = rest == 1
    with localcontext() as context:
        whole = len(str(abs(number.numerator) // number.denominator))
        context.prec = whole + places if finite else DIGITS
        return f"{Decimal(number.numerator) / Decimal(number.denominator):f}", finite


EVALUATE = ToolFunction[Calculation, CalculatedValue](
    name="Calculator.evaluate",
    description="Computes an arithmetic expression exactly, such as 2*(3+4) or 0.1+0.2.",
    effect="read",
    input=TypeAdapter(Calculation),
    output=TypeAdapter(CalculatedValue),
    run=compute,
    timeout=5.0,
    retries=0,
    errors={
        FailureType.FUNCTION_REFUSED: "the text is not an arithmetic expression; the message names "
        "what is allowed",
        FailureType.FUNCTION_FAILED: "the expression has no value: it divides by zero, leaves a "
        "function's range, or exceeds 4096 bits",
    },
)
