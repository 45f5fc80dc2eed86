"""Evaluate arithmetic exactly: walk a syntax tree of numbers, operators and a few functions.

Nothing is executed: a node that is not listed here is refused. Every number is bounded before it is
computed, so no expression takes long or much memory. Decimals are exact fractions, so 0.1 + 0.2 is
0.3; roots, logarithms and trigonometry give floats.
"""

import ast
import math
import re
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


MAX_BITS = 4096
"""Bits of a numerator or denominator: about 1,200 digits."""


class ArithmeticProblem(Exception):
    """The expression has no value; the message says why."""


class NotArithmetic(Exception):
    """The text is not an expression of this calculator; the message says what is allowed."""


def evaluate(expression: str) -> Number:
    """Return the value of an expression.

    Raises:
        NotArithmetic: It has other parts than numbers, operators and known functions.
        ArithmeticProblem: It divides by zero, leaves a function's range, or grows too large.
    """
    tree = _parse_expression(expression)
    try:
        return _plain_number(_value(tree))
    except RecursionError:
        raise NotArithmetic("the expression is nested too deeply") from None


_SIGNS = str.maketrans({"\u00d7": "*", "\u00b7": "*", "\u00f7": "/", "\u2212": "-"})
"""Typographic signs: multiplication sign, middle dot, division sign, minus."""
_IMPLIED = re.compile(r"(?<![\w.])(?>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?=[A-Za-z_(])")


def _parse_expression(expression: str) -> ast.expr:
    text = expression.translate(_SIGNS).replace("^", "**").strip()
    implied = _IMPLIED.search(text)
    if implied is not None:
        raise NotArithmetic(f"write `*` after {implied[0]!r}: every product needs its sign")
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        where = f" at column {error.offset}" if error.offset else ""
        raise NotArithmetic(f"it is not an arithmetic expression: {error.msg}{where}") from None
    except (ValueError, RecursionError, MemoryError):
        raise NotArithmetic("it is not an arithmetic expression") from None


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=bool()):
            raise NotArithmetic("True and False are no numbers; use 1 and 0")
        case ast.Constant(value=int(number)):
            return _plain_number(number)
        case ast.Constant(value=float(number)):
            return _decimal(number)
        case ast.Name(id=name):
            return _constant(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=operator, right=right):
            return _compute(operator, _value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _call_function(name, [_value(argument) for argument in arguments])
        case _:
            raise NotArithmetic(
                "only numbers, + - * / // % ^ ( ), the constants "
                f"{', '.join(CONSTANTS)} and the functions {', '.join(FUNCTIONS)} are allowed"
            )


def _decimal(number: float) -> Fraction:
    if not math.isfinite(number):
        raise ArithmeticProblem("a number is too large")
    return Fraction(repr(number))


def _constant(name: str) -> float:
    if name not in CONSTANTS:
        raise NotArithmetic(
            f"unknown name {name!r}; constants: {', '.join(CONSTANTS)}; functions: "
            f"{', '.join(FUNCTIONS)}"
        )
    return CONSTANTS[name]


def _compute(operator: ast.operator, left: Number, right: Number) -> Number:
    try:
        return _plain_number(_binary(operator, left, right))
    except ZeroDivisionError:
        raise ArithmeticProblem("division by zero") from None
    except OverflowError:
        raise _too_large() from None


def _binary(operator: ast.operator, left: Number, right: Number) -> Number:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            floats = isinstance(left, float) or isinstance(right, float)
            return left / right if floats else Fraction(left) / right
        case ast.FloorDiv():
            return left // right
        case ast.Mod():
            return left % right
        case ast.Pow():
            return _power(left, right)
        case _:
            raise NotArithmetic("the operators are + - * / // % and ^ for powers")


def _power(base: Number, exponent: Number) -> Number:
    """Compute a power; estimate its size first, because a huge one never ends."""
    exponent = _plain(exponent)
    if isinstance(base, float) or not isinstance(exponent, int):
        result = float(base) ** float(exponent)
        if isinstance(result, complex):
            raise ArithmeticProblem("a root of a negative number has no real value")
        return result
    if abs(base) not in (0, 1) and abs(exponent) * _bits(base) > MAX_BITS:
        raise _too_large()
    return Fraction(base) ** exponent


def _bits(number: int | Fraction) -> int:
    return max(abs(number.numerator), number.denominator).bit_length()


def _plain_number(number: Number) -> Number:
    """Return the number in its plainest form, if it is finite and not too large."""
    if isinstance(number, float):
        if not math.isfinite(number):
            raise _too_large()
        return number
    if _bits(number) > MAX_BITS:
        raise _too_large()
    return _plain(number)


def _plain(number: Number) -> Number:
    """Return a whole fraction as an integer."""
    if isinstance(number, Fraction) and number.denominator == 1:
        return number.numerator
    return number


def _too_large() -> ArithmeticProblem:
    return ArithmeticProblem(
        f"a number is too large; exact ones have at most {MAX_BITS} bits (about 1,200 digits), "
        "results of functions are at most 1.8e308"
    )


def _call_function(name: str, arguments: list[Number]) -> Number:
    function = FUNCTIONS.get(name)
    if function is None:
        raise NotArithmetic(f"unknown function {name!r}; functions: {', '.join(FUNCTIONS)}")
    try:
        return _plain_number(function(*arguments))
    except TypeError:
        raise NotArithmetic(
            f"{name} does not take {len(arguments)} of these arguments; some functions need whole "
            "numbers"
        ) from None
    except ZeroDivisionError:
        raise ArithmeticProblem("division by zero") from None
    except ValueError:
        raise ArithmeticProblem(f"{name} has no value there") from None
    except OverflowError:
        raise _too_large() from None
