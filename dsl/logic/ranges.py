"""Ranges of numbers and texts that comparisons allow."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pydantic import JsonValue

from coterie.dsl.model.conditions import Operator

Wanted = tuple[Operator, JsonValue, bool]
"""Operator, value, whether it is to hold."""
Bound = float | str


@dataclass(frozen=True, slots=True)
class Range:
    """An interval with two bounds, each inclusive or exclusive; None means unbounded."""

    low: Bound | None = None
    high: Bound | None = None
    low_in: bool = True
    high_in: bool = True

    @property
    def empty(self) -> bool:
        """Return whether the range is certainly empty."""
        if self.low is None or self.high is None:
            return False
        if self.low == self.high:
            return not (self.low_in and self.high_in)
        return _above(self.low, self.high)

    @property
    def point(self) -> Bound | None:
        """Return the only value of the range, if there is just one."""
        return self.low if self.low is not None and self.low == self.high else None

    def above(self, bound: Bound, *, included: bool) -> "Range":
        """Return the part of the range above the bound."""
        if self.low is None or _above(bound, self.low):
            return replace(self, low=bound, low_in=included)
        return replace(self, low_in=self.low_in and included) if bound == self.low else self

    def below(self, bound: Bound, *, included: bool) -> "Range":
        """Return the part of the range below the bound."""
        if self.high is None or _above(self.high, bound):
            return replace(self, high=bound, high_in=included)
        return replace(self, high_in=self.high_in and included) if bound == self.high else self


def _above(one: Bound, other: Bound) -> bool:
    """Compare two bounds; the bounds of one range have one type."""
    if isinstance(one, str) or isinstance(other, str):
        return str(one) > str(other)
    return one > other


def number_range(tests: Iterable[Wanted]) -> Range:
    """Return the numbers that the comparisons allow."""
    left = Range()
    outside: list[tuple[float | None, float | None]] = []
    for operator, value, holds in tests:
        if operator == "in_range":
            low, high = _ends(value)
            if not holds:
                outside.append((low, high))
                continue
            left = left if low is None else left.above(low, included=True)
            left = left if high is None else left.below(high, included=True)
        else:
            number = _number(value)
            left = left if number is None else _narrow_range(left, operator, number, holds)
    for low, high in outside:
        above = low is None or (left.low is not None and not _above(low, left.low))
        below = high is None or (left.high is not None and not _above(left.high, high))
        if above and below:
            return Range(0, 0, False, False)
    return left


def text_range(tests: Iterable[Wanted]) -> Range:
    """Return the texts that the comparisons allow, in code point order."""
    left = Range()
    for operator, value, holds in tests:
        if isinstance(value, str):
            left = _narrow_range(left, operator, value, holds)
    return left


def _narrow_range(left: Range, operator: Operator, bound: Bound, holds: bool) -> Range:
    match operator, holds:
        case ("greater_than", True) | ("less_or_equal", False):
            return left.above(bound, included=False)
        case ("greater_or_equal", True) | ("less_than", False):
            return left.above(bound, included=True)
        case ("less_than", True) | ("greater_or_equal", False):
            return left.below(bound, included=False)
        case ("less_or_equal", True) | ("greater_than", False):
            return left.below(bound, included=True)
        case _:
            return left


def _number(value: JsonValue) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _ends(value: JsonValue) -> tuple[float | None, float | None]:
    if not isinstance(value, list) or len(value) != 2:
        return None, None
    return _number(value[0]), _number(value[1])
