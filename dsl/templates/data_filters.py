"""The filters that rebuild JSON, which Jinja2 lacks. Each returns a new value and charges first."""

import json
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, cast

from pydantic import JsonValue

from coterie.dsl.json_values import describe_kind, json_equal
from coterie.dsl.model.evaluation_budget import EvaluationMeter, text_bytes
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.templates.jsonable import to_json
from coterie.dsl.templates.operand_words import OperandError
from coterie.dsl.templates.shown_values import MeteredContext
from coterie.dsl.templates.value_costs import charge_membership, charge_number
from coterie.dsl.values import Json

_STEP_CHARACTERS = 4
"""Characters of a JSON text that the parser reads in one step."""
_VALUE_BYTES = 16
"""Maximum bytes of the parsed value for each character of its text."""


def _merge(context: MeteredContext, value: object, other: object) -> JsonValue:
    """Merge a mapping over another one, by the rule of the language: null deletes a key."""
    meter = context.meter
    return deep_merge(_mapping("merge", value, meter), _mapping("merge", other, meter))


def _put(context: MeteredContext, value: object, key: object, item: object) -> JsonValue:
    """Set one key of a mapping. Dots in the key have no meaning."""
    meter = context.meter
    if not isinstance(key, str):
        raise OperandError(f"put takes a text as key, not {describe_kind(to_json(key, meter))}")
    return {**_mapping("put", value, meter), key: to_json(item, meter)}


def _without(context: MeteredContext, value: object, unwanted: object) -> JsonValue:
    """Drop items of a list, or keys of a mapping: one of them, or a list of them."""
    meter = context.meter
    value, unwanted = to_json(value, meter), to_json(unwanted, meter)
    drop = unwanted if isinstance(unwanted, list) else [unwanted]
    match value:
        case list():
            for item in value:
                charge_membership(meter, item, drop)
            return [item for item in value if not any(json_equal(item, other) for other in drop)]
        case dict():
            keys = {key for key in drop if isinstance(key, str)}
            return {key: item for key, item in value.items() if key not in keys}
        case _:
            raise OperandError(f"without takes a list or a mapping, not {describe_kind(value)}")


def _zip(context: MeteredContext, value: object, other: object) -> JsonValue:
    """Pair the items of two lists of the same length."""
    meter = context.meter
    left, right = _list("zip", value, meter), _list("zip", other, meter)
    if len(left) != len(right):
        raise OperandError(
            f"zip takes lists of the same length, not of {len(left)} and {len(right)}"
        )
    meter.charge(len(left), 72 * len(left))
    return [[one, two] for one, two in zip(left, right, strict=True)]


def _flatten(context: MeteredContext, value: object) -> JsonValue:
    """Join the lists of a list; other items stay."""
    items = _list("flatten", value, context.meter)
    parts = (item if isinstance(item, list) else [item] for item in items)
    return [item for part in parts for item in part]


def _from_json(context: MeteredContext, value: object) -> JsonValue:
    """Parse a JSON text; NaN, infinities and repeated keys are refused."""
    meter = context.meter
    if not isinstance(value, str):
        raise OperandError(f"from_json takes a text, not {describe_kind(to_json(value, meter))}")
    meter.charge(1 + len(value) // _STEP_CHARACTERS, text_bytes(value) + _VALUE_BYTES * len(value))

    def integer(digits: str) -> int:
        charge_number(meter, digits)
        return int(digits)

    try:
        parsed = json.loads(
            value, parse_int=integer, parse_constant=_no_constant, object_pairs_hook=_pairs
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise OperandError(f"from_json found no JSON at {where}: {error.msg}") from None
    return to_json(parsed, meter)  # limits the depth, refuses numbers beyond a float


def _sum_by(context: MeteredContext, value: object, key: str, attribute: str) -> JsonValue:
    """Add up one attribute of mappings, grouped by the text of another: `{group: sum}`."""
    meter = context.meter
    sums: dict[str, JsonValue] = {}
    for item in _list("sum_by", value, meter):
        meter.charge(4, 64)
        if not isinstance(item, dict) or key not in item or attribute not in item:
            raise OperandError(f"sum_by takes a list of mappings with {key!r} and {attribute!r}")
        group, number = item[key], item[attribute]
        if not isinstance(group, str):
            raise OperandError(f"sum_by groups by a text, and {key!r} is {describe_kind(group)}")
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise OperandError(f"sum_by adds numbers, and {attribute!r} is {describe_kind(number)}")
        before = cast("int | float", sums.get(group, 0))
        if isinstance(before, int) and isinstance(number, int):
            meter.charge_integer(max(before.bit_length(), number.bit_length()) + 1)
        sums[group] = before + number
    return sums


DATA_FILTERS: Final[Mapping[str, Callable[..., object]]] = {
    "flatten": _flatten,
    "from_json": _from_json,
    "merge": _merge,
    "put": _put,
    "sum_by": _sum_by,
    "without": _without,
    "zip": _zip,
}
"""Each takes the context of the evaluation, the value, and the filter's own arguments."""


def _mapping(name: str, value: object, meter: EvaluationMeter) -> Json:
    plain = to_json(value, meter)
    if not isinstance(plain, dict):
        raise OperandError(f"{name} takes mappings, not {describe_kind(plain)}")
    return plain


def _list(name: str, value: object, meter: EvaluationMeter) -> list[JsonValue]:
    plain = to_json(value, meter)
    if not isinstance(plain, list):
        raise OperandError(f"{name} takes a list, not {describe_kind(plain)}")
    return plain


def _no_constant(name: str) -> NoReturn:
    raise OperandError(f"from_json takes JSON, which has no {name}")


def _pairs(pairs: list[tuple[str, JsonValue]]) -> Json:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise OperandError("from_json found a key twice in one mapping")
    return found
