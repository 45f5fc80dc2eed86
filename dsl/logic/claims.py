"""Satisfiability of several claims about one value. Sound: "no" is certain, "yes" is not.

A value of the facts is JSON, or missing. Where a claim allows only a few values, the check tries
each one. Otherwise it tests each type of value for its range, its lengths and its parts.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.evaluate.operator_table import OPERATORS, Found
from coterie.dsl.json_values import json_equal
from coterie.dsl.model.conditions import Operator
from coterie.dsl.paths import MISSING

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


def _above(first: Bound, second: Bound) -> bool:
    """Compare two bounds; the bounds of one range have one type."""
    if isinstance(first, str) or isinstance(second, str):
        return str(first) > str(second)
    return first > second


def number_range(tests: Iterable[Wanted]) -> Range:
    """Return the numbers that the comparisons allow."""
    remaining = Range()
    outside: list[tuple[float | None, float | None]] = []
    for operator, value, holds in tests:
        if operator == "in_range":
            low, high = _ends(value)
            if not holds:
                outside.append((low, high))
                continue
            remaining = remaining if low is None else remaining.above(low, included=True)
            remaining = remaining if high is None else remaining.below(high, included=True)
        else:
            number = _number(value)
            remaining = (
                remaining if number is None else _narrow_range(remaining, operator, number, holds)
            )
    for low, high in outside:
        above = low is None or (remaining.low is not None and not _above(low, remaining.low))
        below = high is None or (remaining.high is not None and not _above(remaining.high, high))
        if above and below:
            return Range(0, 0, False, False)
    return remaining


def text_range(tests: Iterable[Wanted]) -> Range:
    """Return the texts that the comparisons allow, in code point order."""
    remaining = Range()
    for operator, value, holds in tests:
        if isinstance(value, str):
            remaining = _narrow_range(remaining, operator, value, holds)
    return remaining


def _narrow_range(remaining: Range, operator: Operator, bound: Bound, holds: bool) -> Range:
    match operator, holds:
        case ("greater_than", True) | ("less_or_equal", False):
            return remaining.above(bound, included=False)
        case ("greater_or_equal", True) | ("less_than", False):
            return remaining.above(bound, included=True)
        case ("less_than", True) | ("greater_or_equal", False):
            return remaining.below(bound, included=False)
        case ("less_or_equal", True) | ("greater_than", False):
            return remaining.below(bound, included=True)
        case _:
            return remaining


def _number(value: JsonValue) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _ends(value: JsonValue) -> tuple[float | None, float | None]:
    if not isinstance(value, list) or len(value) != 2:
        return None, None
    return _number(value[0]), _number(value[1])


_ALL = frozenset({"missing", "null", "boolean", "number", "string", "list", "mapping"})
_SIZED = frozenset({"string", "list", "mapping"})
_EMPTY: tuple[JsonValue, ...] = ("", [], {})


class Claim(NamedTuple):
    """One operator with its value, and whether it must hold."""

    operator: Operator
    value: JsonValue
    holds: bool = True

    def fits(self, found: Found) -> bool:
        """Return whether this value meets the claim; the run's own operators decide."""
        return OPERATORS[self.operator].test(found, self.value) is self.holds


def possible(claims: Sequence[Claim]) -> bool:
    """Return False only when no value, not even a missing one, meets every claim."""
    for claim in claims:
        few = _few(claim)
        if few is not None:
            return _any_fits(few, claims)
    if _contradict_each_other(claims):
        return False
    types = _ALL
    for claim in claims:
        types &= _types(claim)
    return any(_possible_as(type_, claims) for type_ in sorted(types))


def _any_fits(values: Iterable[Found], claims: Sequence[Claim]) -> bool:
    return any(all(claim.fits(value) for claim in claims) for value in values)


def _contradict_each_other(claims: Sequence[Claim]) -> bool:
    """Return whether the same claim must both hold and not hold."""
    if len(claims) < 2 or len({claim.holds for claim in claims}) < 2:
        return False
    signatures = {
        (claim.operator, json.dumps(claim.value, sort_keys=True), claim.holds) for claim in claims
    }
    return any((operator, value, not holds) in signatures for operator, value, holds in signatures)


def _flag(claim: Claim) -> bool:
    """Return the result of `exists`, `is_null` or `is_empty` with its value and negation."""
    return (claim.value is not False) is claim.holds


def _few(claim: Claim) -> list[Found] | None:
    """Return all values that meet the claim when they are few; otherwise None."""
    value = claim.value
    match claim.operator:
        case "equals" if claim.holds:
            return [value]
        case "not_equals" if not claim.holds:
            return [value]
        case "in" if claim.holds and isinstance(value, list | dict):
            return list(value)
        case "exists":
            return None if _flag(claim) else [MISSING]
        case "is_null":
            return [None, MISSING] if _flag(claim) else None
        case "is_empty":
            return [None, MISSING, *_EMPTY] if _flag(claim) else None
        case "is_type" if claim.holds and value == "boolean":
            return [True, False]
        case "contains_any" if claim.holds and value == []:
            return []
        case "contains_all" if not claim.holds and value == []:
            return [MISSING]
        case _:
            return None


def _types(claim: Claim) -> frozenset[str]:
    """Return the types that a value may have, as far as this claim alone determines."""
    match claim.operator:
        case "exists":
            return _ALL - {"missing"}
        case "is_null" | "is_empty":
            return _ALL - {"missing", "null"}
        case "is_type":
            named = {str(claim.value)} if claim.value != "integer" else {"number"}
            if claim.holds:
                return frozenset(named)
            return _ALL if claim.value == "integer" else _ALL - named
        case _ if not claim.holds:
            return _ALL
        case _:
            return _WHERE.get(claim.operator, lambda _: _ALL)(claim.value)


def _comparison_kinds(value: JsonValue) -> frozenset[str]:
    return frozenset({"string" if isinstance(value, str) else "number"})


def _holding(value: JsonValue) -> frozenset[str]:
    items = value if isinstance(value, list) else [value]
    if not items:
        return _ALL - {"missing"}
    return _SIZED if any(isinstance(item, str) for item in items) else frozenset({"list"})


def _text(_: JsonValue) -> frozenset[str]:
    return frozenset({"string"})


def _kinds_with_length(_: JsonValue) -> frozenset[str]:
    return _SIZED


_WHERE: dict[Operator, Callable[[JsonValue], frozenset[str]]] = {
    "greater_than": _comparison_kinds,
    "less_than": _comparison_kinds,
    "greater_or_equal": _comparison_kinds,
    "less_or_equal": _comparison_kinds,
    "contains": lambda value: _SIZED if isinstance(value, str) else frozenset({"list"}),
    "contains_any": _holding,
    "contains_all": _holding,
    "starts_with": _text,
    "ends_with": _text,
    "matches": _text,
    "in": _text,
    "in_range": lambda _: frozenset({"number"}),
    "has_length": _kinds_with_length,
    "min_length": _kinds_with_length,
    "max_length": _kinds_with_length,
}
"""Where a claim can hold at all; an `in` that comes here asks for a part of a text."""


def _possible_as(type_: str, claims: Sequence[Claim]) -> bool:
    match type_:
        case "missing":
            return _any_fits([MISSING], claims)
        case "null":
            return _any_fits([None], claims)
        case "boolean":
            return _any_fits([True, False], claims)
        case "number":
            return _in_range(number_range(_wanted_values(claims)), claims)
        case "string":
            texts = text_range(_wanted_values(claims))
            return (
                _in_range(texts, claims)
                and _lengths(claims)
                and _parts(claims)
                and _affixes(claims)
            )
        case _:
            return _lengths(claims) and _parts(claims)


def _wanted_values(claims: Sequence[Claim]) -> list[Wanted]:
    return [(claim.operator, claim.value, claim.holds) for claim in claims]


def _in_range(remaining: Range, claims: Sequence[Claim]) -> bool:
    """Return whether the range has a value; a single remaining value gets an exact test."""
    return not remaining.empty and (remaining.point is None or _any_fits([remaining.point], claims))


def _lengths(claims: Sequence[Claim]) -> bool:
    """Return whether the claims allow any length."""
    low, high = 0, float("inf")
    for claim in claims:
        bound = claim.value
        if claim.operator == "is_empty" and not _flag(claim):
            low = max(low, 1)
        if not isinstance(bound, int):
            continue
        match claim.operator, claim.holds:
            case "has_length", True:
                low, high = max(low, bound), min(high, bound)
            case ("min_length", True):
                low = max(low, bound)
            case ("max_length", False):
                low = max(low, bound + 1)
            case ("max_length", True):
                high = min(high, bound)
            case ("min_length", False):
                high = min(high, bound - 1)
            case _:
                pass
    excluded = {
        t.value
        for t in claims
        if t.operator == "has_length" and not t.holds and isinstance(t.value, int)
    }
    return low <= high and not (low == high and low in excluded)


def _parts(claims: Sequence[Claim]) -> bool:
    """Return whether the required and the forbidden parts are compatible."""
    inside: list[JsonValue] = []
    outside: list[JsonValue] = []
    for claim in claims:
        match claim.operator, claim.holds:
            case "contains", _:
                (inside if claim.holds else outside).append(claim.value)
            case ("contains_all", True) | ("contains_any", False):
                (inside if claim.holds else outside).extend(_items(claim.value))
            case _:
                pass
    for claim in claims:
        match claim.operator, claim.holds:
            case "contains_any", True:
                if all(_among(item, outside) for item in _items(claim.value)):
                    return False
            case "contains_all", False:
                if all(_among(item, inside) for item in _items(claim.value)):
                    return False
            case _:
                pass
    return not any(_among(item, outside) for item in inside)


def _items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]


def _among(item: JsonValue, items: Sequence[JsonValue]) -> bool:
    return any(json_equal(item, other) for other in items)


def _affixes(claims: Sequence[Claim]) -> bool:
    """Return whether the required and the forbidden prefixes and suffixes are compatible."""
    starts, ends = _texts(claims, "starts_with"), _texts(claims, "ends_with")
    longest = max(starts, key=len, default="")
    last = max(ends, key=len, default="")
    return (
        all(map(longest.startswith, starts))
        and all(map(last.endswith, ends))
        and not any(map(longest.startswith, _texts(claims, "starts_with", hold=False)))
        and not any(map(last.endswith, _texts(claims, "ends_with", hold=False)))
        and not any(
            text in longest or text in last for text in _texts(claims, "contains", hold=False)
        )
    )


def _texts(claims: Sequence[Claim], operator: Operator, *, hold: bool = True) -> list[str]:
    """Return the texts of the claims with this operator that must hold, or must not."""
    chosen = (claim.value for claim in claims if claim.operator == operator and claim.holds is hold)
    return [value for value in chosen if isinstance(value, str)]
