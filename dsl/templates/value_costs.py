"""The cost of comparing, searching and sorting values, charged in advance."""

import operator
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, cast

from pydantic import JsonValue

from coterie.dsl.errors import EvaluationLimitExceeded
from coterie.dsl.json_values import json_equal
from coterie.dsl.model.evaluation_budget import ATOMS, MAX_INTEGER_BITS, EvaluationMeter, text_bytes
from coterie.dsl.templates.operand_words import refused
from coterie.dsl.templates.text_costs import charge_search

MAX_NUMBER_LENGTH: Final = 4300
"""Maximum characters of a number in a text; Python reads no longer one."""


def _equal(left: object, right: object) -> bool:
    """Return equality as the operator `equals` sees it: true is not 1, at any depth."""
    kind, other = type(left), type(right)
    if kind is other and (kind is str or kind is int):
        return left == right
    if (kind is bool or other is bool) and kind in _NUMBERS and other in _NUMBERS:
        return left is right
    if (kind is list and other is list) or (kind is dict and other is dict):
        return json_equal(cast("JsonValue", left), cast("JsonValue", right))
    return bool(left == right)


def _contains(within: object, value: object) -> bool:
    """Return whether a value is in another one, by the same equality."""
    if type(within) is list:
        return any(_equal(item, value) for item in cast("list[object]", within))
    return value in cast("Collection[object]", within)


_NUMBERS: Final = (bool, int, float)
COMPARISONS: Final[dict[str, Callable[[Any, Any], object]]] = {
    "eq": _equal,
    "ne": lambda left, right: not _equal(left, right),
    "lt": operator.lt,
    "lteq": operator.le,
    "gt": operator.gt,
    "gteq": operator.ge,
}

_SIGNS: Final = {"eq": "==", "ne": "!=", "lt": "<", "lteq": "<=", "gt": ">", "gteq": ">="}


def materialised(meter: EvaluationMeter, value: object) -> object:
    """Turn an iterator into a list, charging each item; return other values unchanged."""
    if not isinstance(value, Iterator):
        return value
    items: list[object] = []
    for item in cast("Iterable[object]", value):
        meter.charge(1, 8)
        items.append(item)
    return items


def charge_items(meter: EvaluationMeter, value: object, steps: int = 1) -> None:
    """Charge for reading every item, `steps` each."""
    if isinstance(value, Collection):
        size = len(cast("Collection[object]", value))
        byte_count = size * 64 if isinstance(value, str) else size * 8
        meter.charge(size * steps, byte_count)


def compare(meter: EvaluationMeter, name: str, left: object, right: object) -> object:
    """Charge for one comparison, then make it."""
    if name in ("in", "notin"):
        charge_membership(meter, left, right)
        try:
            is_member = _contains(right, left)
        except (TypeError, ZeroDivisionError) as error:
            raise refused(error, "in", left, right) from None
        return is_member if name == "in" else not is_member
    charge_comparison(meter, left, right)
    try:
        return COMPARISONS[name](left, right)
    except (TypeError, ZeroDivisionError) as error:
        raise refused(error, _SIGNS[name], left, right) from None


def charge_comparison(meter: EvaluationMeter, left: object, right: object) -> None:
    """Charge for comparing two values, which reads at most as much as the smaller one has."""
    kind = type(left)
    if kind in ATOMS or kind is float or kind is int or type(right) in ATOMS:
        return
    if kind is str:
        meter.charge(len(cast("str", left)) >> 9)
    else:
        meter.walk(left)


def charge_membership(meter: EvaluationMeter, value: object, within: object) -> None:
    """Charge for finding the value."""
    if isinstance(within, str):
        charge_search(meter, within, value if isinstance(value, str) else "")
    elif isinstance(within, dict):
        meter.walk(value)  # a tuple hashes all its parts
    elif isinstance(within, Collection):
        weight = meter.walk(value)
        meter.charge(len(cast("Collection[object]", within)) * weight)


def charge_sorting(meter: EvaluationMeter, keys: list[object]) -> None:
    """Charge for sorting by the keys."""
    weight = sum(meter.walk(key) for key in keys)
    meter.charge(weight * len(keys).bit_length(), 40 * len(keys))


def charge_repeated(meter: EvaluationMeter, value: object, times: object) -> None:
    """Charge for `value * times`, where one of the two is a text or a list."""
    if not isinstance(times, int) or not isinstance(value, str | list | tuple):
        return
    count = max(0, times)
    if isinstance(value, str):
        meter.charge(0, text_bytes(value) * count)
    else:
        size = len(cast("Collection[object]", value)) * count
        meter.charge(size, 8 * size)


def charge_joined(meter: EvaluationMeter, left: object, right: object) -> None:
    """Charge for `left + right` of texts or lists."""
    if isinstance(left, str) and isinstance(right, str):
        meter.charge(0, text_bytes(left) + text_bytes(right))
    elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
        size = len(cast("Collection[object]", left)) + len(cast("Collection[object]", right))
        meter.charge(size, 8 * size)


def charge_arithmetic(meter: EvaluationMeter, name: str, left: object, right: object) -> None:
    """Charge for the largest whole number that this operation can make."""
    if isinstance(left, int) and isinstance(right, int):
        left_bits, right_bits = left.bit_length(), right.bit_length()
        meter.charge_integer(left_bits + right_bits if name == "*" else max(left_bits, right_bits))


def charge_number(meter: EvaluationMeter, value: object) -> None:
    """Charge for reading a number."""
    meter.charge(1)
    if not isinstance(value, str):
        return
    if len(value) > MAX_NUMBER_LENGTH:
        raise EvaluationLimitExceeded(
            f"a number in a text has at most {MAX_NUMBER_LENGTH:,} characters", bound="integer"
        )
    meter.charge((len(value) >> 8) ** 2)


def check_precision(precision: object) -> None:
    """Refuse to round to far more digits than a number has, which computes a power of ten.

    Raises:
        EvaluationLimitExceeded: more digits than a number can have.
    """
    if abs(int(cast("int", precision))) > MAX_INTEGER_BITS // 40:
        raise EvaluationLimitExceeded(
            f"a number is rounded to at most {MAX_INTEGER_BITS // 40} digits", bound="integer"
        )
