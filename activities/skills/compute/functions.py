"""The functions and constants of the calculator."""

import math
from collections.abc import Callable
from fractions import Fraction

Number = int | Fraction | float

MAX_FACTORIAL = 400
"""Its factorial has fewer than 4096 bits."""

_MAX_DIGITS = 4096


def _minimum(first: Number, *others: Number) -> Number:
    return min((first, *others))


def _maximum(first: Number, *others: Number) -> Number:
    return max((first, *others))


def _sum(*all: Number) -> Number:
    return sum(all, Fraction(0))


def _magnitude(number: Number) -> Number:
    return abs(number)


def _floor(number: Number) -> int:
    return math.floor(number)


def _ceiling(number: Number) -> int:
    return math.ceil(number)


def _square_root(number: Number) -> Number:
    """Return the root; exact for squares of fractions."""
    if number >= 0 and not isinstance(number, float):
        top, bottom = math.isqrt(number.numerator), math.isqrt(number.denominator)
        if top * top == number.numerator and bottom * bottom == number.denominator:
            return Fraction(top, bottom)
    return math.sqrt(number)


def _round_number(number: Number, digits: Number = 0) -> Number:
    """Round to decimal digits; a half goes to the even neighbour."""
    if not isinstance(digits, int):
        raise TypeError("a whole number")
    if abs(digits) > _MAX_DIGITS:
        raise OverflowError
    return round(Fraction(number), digits)


def _natural_logarithm(number: Number) -> float:
    return math.log(number)


def _factorial(number: Number) -> int:
    return math.factorial(_small(number))


def _combinations(number: Number, chosen: Number) -> int:
    return math.comb(_small(number), _small(chosen))


def _permutations(number: Number, chosen: Number) -> int:
    return math.perm(_small(number), _small(chosen))


def _greatest_divisor(*all: Number) -> int:
    return math.gcd(*map(_integer, all))


def _least_multiple(*all: Number) -> int:
    return math.lcm(*map(_integer, all))


def _small(number: Number) -> int:
    """Return a whole number whose factorial is still bounded."""
    whole = _integer(number)
    if whole > MAX_FACTORIAL:
        raise OverflowError
    return whole


def _integer(number: Number) -> int:
    if not isinstance(number, int):
        raise TypeError("a whole number")
    return number


CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau}

FUNCTIONS: dict[str, Callable[..., Number]] = {
    "abs": _magnitude,
    "round": _round_number,
    "floor": _floor,
    "ceil": _ceiling,
    "min": _minimum,
    "max": _maximum,
    "sum": _sum,
    "sqrt": _square_root,
    "exp": math.exp,
    "ln": _natural_logarithm,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
    "degrees": math.degrees,
    "radians": math.radians,
    "hypot": math.hypot,
    "factorial": _factorial,
    "comb": _combinations,
    "perm": _permutations,
    "gcd": _greatest_divisor,
    "lcm": _least_multiple,
}
"""Each raises TypeError for arguments that it does not take, ValueError outside its range."""
