"""The filters and methods of templates: each charges its cost, then Jinja2's own runs.

A closed list: the language has no other filters.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, Final, NoReturn, Protocol, cast

from jinja2.filters import FILTERS, make_attrgetter
from jinja2.utils import (
    _PassArg,  # pyright: ignore[reportPrivateUsage]
    pass_context,
)
from pydantic import JsonValue

from coterie.dsl.json_values import describe_kind, json_equal
from coterie.dsl.model.evaluation_budget import EvaluationMeter, digits_steps, text_bytes
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.templates import filter_costs as costs
from coterie.dsl.templates import text_costs as texts
from coterie.dsl.templates import value_costs as values
from coterie.dsl.templates.jsonable import to_json
from coterie.dsl.templates.operand_words import OperandError, refused_call
from coterie.dsl.templates.shown_values import Absent, MeteredContext, encodable, text_of
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
    return [[first, second] for first, second in zip(left, right, strict=True)]


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
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise OperandError("from_json found a key twice in one mapping")
    return mapping


_PER_CALL = 5
_MAX_INDENT = 16


Run = Callable[..., object]
"""Called with the context, the value and the arguments of the filter."""


class _Filter(Protocol):
    def __call__(
        self, context: MeteredContext, value: Any, *args: Any, **kwargs: Any
    ) -> object: ...


def _passing(original: Run) -> Callable[[MeteredContext], tuple[object, ...]]:
    """Return what a filter of Jinja2 takes before its value."""
    match _PassArg.from_obj(cast("Any", original)):
        case _PassArg.context:
            return lambda context: (context,)
        case _PassArg.eval_context:
            return lambda context: (context.eval_ctx,)
        case _PassArg.environment:
            return lambda context: (context.environment,)
        case None:
            return lambda context: ()


def metered(name: str, original: Run, prepare: costs.Prepare) -> _Filter:
    """Return the filter, charged by `prepare` before it runs; an iterator is charged per item."""
    passing = _passing(original)

    @pass_context
    def run(context: MeteredContext, value: Any, *args: Any, **kwargs: Any) -> object:
        meter = context.meter
        meter.charge(_PER_CALL)
        if not isinstance(value, Absent):
            value = prepare(context, value, *args, **kwargs)
        try:
            return values.materialised(meter, original(*passing(context), value, *args, **kwargs))
        except (TypeError, AttributeError) as error:
            raise refused_call(error, name, value, *args, *kwargs.values()) from None

    return run


def _join(
    context: MeteredContext, value: object, d: object = "", attribute: str | int | None = None
) -> str:
    meter = context.meter
    values.charge_items(meter, value, costs.dots(attribute))
    items = cast("Iterable[object]", value)
    if attribute is not None:
        items = map(make_attrgetter(context.environment, attribute), items)
    pieces = [text_of(item, meter) for item in items]
    separator = text_of(d, meter)
    meter.charge(0, sum(map(text_bytes, pieces)) + text_bytes(separator) * len(pieces))
    return separator.join(pieces)


def _replace(
    context: MeteredContext, value: object, old: object, new: object, count: int | None = None
) -> str:
    meter = context.meter
    text, before, after = (text_of(argument, meter) for argument in (value, old, new))
    texts.charge_replace(meter, text, before, after, count)
    return text.replace(before, after, -1 if count is None else count)


def format_text(meter: EvaluationMeter, text: str, filling: object) -> str:
    """Return `text % filling`, charged first; lists and mappings in it appear as JSON."""
    longest = steps = 0

    def shortened(value: object) -> object:
        nonlocal longest, steps
        if isinstance(value, int):
            steps = max(steps, digits_steps(value))
        if isinstance(value, bool | int | float) or value is None:
            size = 330 if not isinstance(value, int) else 8 + value.bit_length() // 3
        else:
            value = value if isinstance(value, Absent) else text_of(value, meter)
            size = text_bytes(value) * 4 if isinstance(value, str) else 0  # `%r` escapes
        longest = max(longest, size)
        return value

    match filling:
        case tuple():
            filling = tuple(map(shortened, cast("tuple[object, ...]", filling)))
        case dict():
            pairs = cast("dict[object, object]", filling)
            filling = {key: shortened(value) for key, value in pairs.items()}
        case _:
            filling = (shortened(filling),)
    texts.charge_format(meter, text, longest, steps)
    return text % filling


def _format(context: MeteredContext, value: object, *args: object, **kwargs: object) -> str:
    return format_text(context.meter, text_of(value, context.meter), kwargs or args)


def _to_json_text(context: MeteredContext, value: object, indent: int | None = None) -> str:
    meter = context.meter
    width = min(indent, _MAX_INDENT) if indent else None
    plain = encodable(value, meter)
    if width:
        meter.charge(5)
        meter.charge(0, _indentation(plain, width, 1))
    return json.dumps(plain, ensure_ascii=False, indent=width)


def _indentation(value: object, width: int, depth: int) -> int:
    """Return the bytes that line breaks and indents add."""
    if not isinstance(value, list | dict):
        return 0
    inner = cast("Collection[object]", value.values() if isinstance(value, dict) else value)
    own = (len(inner) + 1) * (1 + width * depth)
    return own + sum(_indentation(item, width, depth + 1) for item in inner)


def _sum(
    context: MeteredContext,
    iterable: object,
    attribute: str | int | None = None,
    start: object = 0,
) -> object:
    meter = context.meter
    values.charge_items(meter, iterable, 1 + costs.dots(attribute))
    if isinstance(start, str):
        raise OperandError("texts are not summed; use join")
    items = cast("Iterable[object]", iterable)
    if attribute is not None:
        items = map(make_attrgetter(context.environment, attribute), items)
    add = cast("Any", context.environment).call_binop
    total = start
    for item in items:
        total = add(context, "+", total, item)
    return total


def _string(context: MeteredContext, value: object) -> str:
    return text_of(value, context.meter)


_OWN: Final[dict[str, Run]] = {
    **DATA_FILTERS,
    "format": _format,
    "join": _join,
    "replace": _replace,
    "string": _string,
    "sum": _sum,
    "tojson": _to_json_text,
}


def _own(name: str, run: Run) -> _Filter:
    @pass_context
    def charged(context: MeteredContext, value: Any, *args: Any, **kwargs: Any) -> object:
        context.meter.charge(_PER_CALL)
        try:
            return run(context, value, *args, **kwargs)
        except (TypeError, AttributeError) as error:
            raise refused_call(error, name, value, *args, *kwargs.values()) from None

    return charged


def filters() -> dict[str, Any]:
    """Return every filter of the language by its name."""
    prepared = {name: metered(name, FILTERS[name], how) for name, how in costs.PREPARED.items()}
    return prepared | {name: _own(name, run) for name, run in _OWN.items()}


def text_methods() -> dict[str, Callable[..., object]]:
    """Return every method of texts: `(context, text, *args)`."""
    cased = partial(texts.charge_scan, growth=1)
    charged: dict[str, Callable[..., None]] = {
        "upper": cased,
        "lower": cased,
        "title": cased,
        "capitalize": cased,
        "strip": texts.charge_strip,
        "lstrip": texts.charge_strip,
        "rstrip": texts.charge_strip,
        "split": _split,
        "splitlines": _splitlines,
        "startswith": _ends,
        "endswith": _ends,
        "removeprefix": _ends,
        "removesuffix": _ends,
        "count": _search,
        "find": _search,
    }

    def run(name: str, charge: Callable[..., None]) -> Callable[..., object]:
        method = getattr(str, name)

        def charging(context: MeteredContext, text: str, *args: Any, **kwargs: Any) -> object:
            charge(context.meter, text, *args, **kwargs)
            return method(text, *args, **kwargs)

        return charging

    methods = {name: run(name, charge) for name, charge in charged.items()}
    return methods | {"replace": _replace, "join": _joined_by}


def _joined_by(context: MeteredContext, text: str, items: object) -> str:
    return _join(context, items, text)


def _split(meter: EvaluationMeter, text: str, sep: str | None = None, maxsplit: int = -1) -> None:
    texts.charge_split(meter, text, sep, maxsplit)


def _splitlines(meter: EvaluationMeter, text: str, keepends: bool = False) -> None:
    texts.charge_lines(meter, text)


def _ends(meter: EvaluationMeter, text: str, end: object, *args: object) -> None:
    meter.charge(meter.walk(end), text_bytes(text))


def _search(meter: EvaluationMeter, text: str, sub: str, *args: object) -> None:
    texts.charge_search(meter, text, sub)
