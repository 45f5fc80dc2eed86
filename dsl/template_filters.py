"""The filters and tests of templates: each charges what it will cost, then Jinja2's own runs.

A closed list: what is not here is no filter of the language.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, Final, Protocol, cast

from jinja2 import StrictUndefined
from jinja2.filters import FILTERS, ignore_case, make_attrgetter, make_multi_attrgetter
from jinja2.runtime import Context
from jinja2.tests import TESTS
from jinja2.utils import _PassArg, pass_context  # pyright: ignore[reportPrivateUsage]
from pydantic import JsonValue

from dsl import text_costs as texts
from dsl import value_costs as values
from dsl.evaluation import EvaluationMeter, digits_steps, text_bytes
from dsl.jsonable import to_json

_ENCODED: Final = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` makes one each time
_PER_CALL = 5
_ENCODING = 2
"""Bytes of a JSON text for each byte of the value."""
_WIDEST_INDENT = 16


class Absent(StrictUndefined):
    """What is not there: stays absent however deep one asks, and fails when it is used."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> Any:
        return self


class MeteredContext(Context):
    """The names of one evaluation, and its meter."""

    meter: EvaluationMeter


def shown(value: object, meter: EvaluationMeter) -> object:
    """How a value stands inside a text: JSON, but texts as they are."""
    if isinstance(value, str | Absent):
        return value
    return _ENCODED(_encodable(value, meter))


def _encodable(value: object, meter: EvaluationMeter) -> JsonValue:
    """The value as JSON, charged for its copy and for the text of it."""
    before = meter.bytes_left
    plain = to_json(value, meter)
    if type(plain) is list or type(plain) is dict:
        meter.charge(0, _ENCODING * (before - meter.bytes_left))
    return plain


def text_of(value: object, meter: EvaluationMeter) -> str:
    """The value as it stands inside a text."""
    return str(shown(value, meter))


Run = Callable[..., object]
"""Called with the context, the value and the arguments of the filter."""


class _Filter(Protocol):
    def __call__(
        self, context: MeteredContext, value: Any, *args: Any, **kwargs: Any
    ) -> object: ...


def _passing(original: Run) -> Callable[[MeteredContext], tuple[object, ...]]:
    """What a filter of Jinja2's takes before its value."""
    match _PassArg.from_obj(cast("Any", original)):
        case _PassArg.context:
            return lambda context: (context,)
        case _PassArg.eval_context:
            return lambda context: (context.eval_ctx,)
        case _PassArg.environment:
            return lambda context: (context.environment,)
        case None:
            return lambda context: ()


Prepare = Callable[..., object]
"""`(context, value, *args, **kwargs)`: charges, and gives the value that the filter takes."""


def _metered(original: Run, prepare: Prepare) -> _Filter:
    """The filter, charged by `prepare` before it runs; what it yields is charged as it comes."""
    passing = _passing(original)

    @pass_context
    def run(context: MeteredContext, value: Any, *args: Any, **kwargs: Any) -> object:
        meter = context.meter
        meter.charge(_PER_CALL)
        if not isinstance(value, Absent):
            value = prepare(context, value, *args, **kwargs)
        return values.materialised(meter, original(*passing(context), value, *args, **kwargs))

    return run


def _free(context: MeteredContext, value: object, *args: object, **kwargs: object) -> object:
    return value


def _on_text(charge: Callable[..., None]) -> Prepare:
    """A filter of texts: the value is shown as a text, then charged with the arguments."""

    def prepare(context: MeteredContext, value: object, *args: Any, **kwargs: Any) -> str:
        text = text_of(value, context.meter)
        charge(context.meter, text, *args, **kwargs)
        return text

    return prepare


def _scan(growth: int) -> Prepare:
    def charge(meter: EvaluationMeter, text: str, *args: object, **kwargs: object) -> None:
        texts.charge_scan(meter, text, growth)

    return _on_text(charge)


def _title(meter: EvaluationMeter, text: str) -> None:
    texts.charge_words(meter, text)


def _trim(meter: EvaluationMeter, text: str, chars: str | None = None) -> None:
    texts.charge_strip(meter, text, chars)


def _truncate(
    meter: EvaluationMeter,
    text: str,
    length: int = 255,
    killwords: bool = False,
    end: str = "...",
    leeway: int | None = None,
) -> None:
    texts.charge_scan(meter, text, 1)
    meter.charge(0, text_bytes(end))


def _wordwrap(
    meter: EvaluationMeter,
    text: str,
    width: int = 79,
    break_long_words: bool = True,
    wrapstring: str | None = None,
    break_on_hyphens: bool = True,
) -> None:
    texts.charge_wrap(meter, text, width, wrapstring or "\n")


def _wordcount(meter: EvaluationMeter, text: str) -> None:
    texts.charge_words(meter, text)


def _indent(
    meter: EvaluationMeter,
    text: str,
    width: int | str = 4,
    first: bool = False,
    blank: bool = False,
) -> None:
    texts.charge_indent(meter, text, width)


def _dots(attribute: object) -> int:
    return 2 + attribute.count(".") + attribute.count(",") if isinstance(attribute, str) else 2


def _each(context: MeteredContext, value: object, *args: object, **kwargs: object) -> object:
    """A filter that looks at every item, perhaps at an attribute of it."""
    named = [kwargs.get("attribute"), *args[:1]]
    values.charge_items(context.meter, value, 2 + max(map(_dots, named)))
    return value


def _charge_keys(
    context: MeteredContext, value: object, attribute: Any, case_sensitive: bool
) -> object:
    """For sorting the items by an attribute."""
    context.meter.charge(5)
    _each(context, value, attribute)
    after = None if case_sensitive else ignore_case
    getter = make_multi_attrgetter(context.environment, attribute, postprocess=after)
    keys = [cast("object", getter(item)) for item in cast("Iterable[object]", value)]
    values.charge_sorting(context.meter, keys)
    return value


def _sort(
    context: MeteredContext,
    value: object,
    reverse: bool = False,
    case_sensitive: bool = False,
    attribute: object = None,
) -> object:
    return _charge_keys(context, value, attribute, case_sensitive)


def _unique(
    context: MeteredContext, value: object, case_sensitive: bool = False, attribute: object = None
) -> object:
    return _charge_keys(context, value, attribute, case_sensitive)


def _groupby(
    context: MeteredContext,
    value: object,
    attribute: object,
    default: object = None,
    case_sensitive: bool = False,
) -> object:
    context.meter.charge(10)
    _each(context, value, attribute)
    after = None if case_sensitive else ignore_case
    getter = make_attrgetter(
        context.environment, cast("Any", attribute), postprocess=after, default=default
    )
    keys = [cast("object", getter(item)) for item in cast("Iterable[object]", value)]
    values.charge_sorting(context.meter, keys)
    return value


def _dictsort(
    context: MeteredContext,
    value: Mapping[object, object],
    case_sensitive: bool = False,
    by: str = "key",
    reverse: bool = False,
) -> object:
    values.charge_items(context.meter, value, 3)
    keys = value.keys() if by == "key" else value.values()
    values.charge_sorting(context.meter, list(keys))
    return value


def _listed(context: MeteredContext, value: object) -> object:
    values.charge_items(context.meter, value)
    return value


def _reversed(context: MeteredContext, value: object) -> object:
    if isinstance(value, str):
        texts.charge_scan(context.meter, value, 1)
    else:
        values.charge_items(context.meter, value)
    return value


def _number(context: MeteredContext, value: object, *args: object, **kwargs: object) -> object:
    values.charge_number(context.meter, value)
    return value


def _rounded(
    context: MeteredContext, value: object, precision: int = 0, method: str = "common"
) -> object:
    values.bounded_precision(precision)
    return value


def _url(context: MeteredContext, value: object) -> object:
    """Texts all the way down: the filter writes other things as Python does."""
    meter = context.meter

    def part(value: object) -> str:
        text = text_of(value, meter)
        texts.charge_url(meter, text)
        return text

    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value)
        return {part(key): part(item) for key, item in pairs.items()}
    if isinstance(value, str) or not isinstance(value, Iterable):
        return part(value)
    pairs = cast("Iterable[Iterable[object]]", value)
    return [(part(key), part(item)) for key, item in pairs]


def _join(
    context: MeteredContext, value: object, d: object = "", attribute: str | int | None = None
) -> str:
    meter = context.meter
    values.charge_items(meter, value, _dots(attribute))
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
    text, before, after = (text_of(one, meter) for one in (value, old, new))
    texts.charge_replace(meter, text, before, after, count)
    return text.replace(before, after, -1 if count is None else count)


def format_text(meter: EvaluationMeter, text: str, filling: object) -> str:
    """`text % filling`, charged first; lists and mappings in it stand as JSON."""
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
    width = min(indent, _WIDEST_INDENT) if indent else None
    plain = _encodable(value, meter)
    if width:
        meter.charge(5)
        meter.charge(0, _indentation(plain, width, 1))
    return json.dumps(plain, ensure_ascii=False, indent=width)


def _indentation(value: object, width: int, depth: int) -> int:
    """Bytes that line breaks and indents add."""
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
    values.charge_items(meter, iterable, 1 + _dots(attribute))
    if isinstance(start, str):
        raise TypeError("texts are not summed; use join")
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
    "format": _format, "join": _join, "replace": _replace, "string": _string, "sum": _sum,
    "tojson": _to_json_text,
}  # fmt: skip
_PREPARED: Final[dict[str, Prepare]] = {
    "abs": _number, "attr": _free, "count": _free, "d": _free, "default": _free,
    "filesizeformat": _number, "first": _free, "float": _number, "int": _number,
    "last": _free, "length": _free,
    "capitalize": _scan(1), "lower": _scan(1), "upper": _scan(1),
    "indent": _on_text(_indent), "striptags": _on_text(texts.charge_tags),
    "title": _on_text(_title), "trim": _on_text(_trim), "truncate": _on_text(_truncate),
    "wordcount": _on_text(_wordcount), "wordwrap": _on_text(_wordwrap),
    "dictsort": _dictsort, "groupby": _groupby, "items": _listed, "list": _listed, "map": _each,
    "max": _unique, "min": _unique, "reject": _each, "rejectattr": _each, "reverse": _reversed,
    "round": _rounded, "select": _each, "selectattr": _each, "sort": _sort, "unique": _unique,
    "urlencode": _url,
}  # fmt: skip


def _own(run: Run) -> _Filter:
    @pass_context
    def metered(context: MeteredContext, value: Any, *args: Any, **kwargs: Any) -> object:
        context.meter.charge(_PER_CALL)
        return run(context, value, *args, **kwargs)

    return metered


def filters() -> dict[str, Any]:
    """Every filter of the language by its name."""
    prepared = {name: _metered(FILTERS[name], how) for name, how in _PREPARED.items()}
    return prepared | {name: _own(run) for name, run in _OWN.items()}


_COMPARING: Final = {
    "==": "eq", "eq": "eq", "equalto": "eq", "!=": "ne", "ne": "ne", ">": "gt", "gt": "gt",
    "greaterthan": "gt", ">=": "gteq", "ge": "gteq", "<": "lt", "lt": "lt", "lessthan": "lt",
    "<=": "lteq", "le": "lteq", "in": "in",
}  # fmt: skip
_LOOKING_AT_TEXT: Final = ("lower", "upper")
_CONSTANT: Final = (
    "boolean", "callable", "defined", "divisibleby", "escaped", "even", "false", "filter", "float",
    "integer", "iterable", "mapping", "none", "number", "odd", "sequence", "string", "test",
    "true", "undefined",
)  # fmt: skip


def _comparing(name: str) -> Run:
    @pass_context
    def test(context: MeteredContext, value: object, other: object) -> object:
        return values.compare(context.meter, name, value, other)

    return test


def tests() -> dict[str, Any]:
    """Every test of the language by its name."""
    found: dict[str, Any] = {name: TESTS[name] for name in _CONSTANT}
    found |= {name: _comparing(how) for name, how in _COMPARING.items()}
    return found | {name: _metered(TESTS[name], _scan(0)) for name in _LOOKING_AT_TEXT}


def text_methods() -> dict[str, Callable[..., object]]:
    """Every method of texts: `(context, text, *args)`."""
    charged: dict[str, Callable[..., None]] = {
        "upper": partial(texts.charge_scan, growth=1), "lower": partial(texts.charge_scan, growth=1),
        "title": partial(texts.charge_scan, growth=1),
        "capitalize": partial(texts.charge_scan, growth=1),
        "strip": texts.charge_strip, "lstrip": texts.charge_strip, "rstrip": texts.charge_strip,
        "split": _split, "splitlines": _splitlines,
        "startswith": _ends, "endswith": _ends, "removeprefix": _ends, "removesuffix": _ends,
        "count": _search, "find": _search,
    }  # fmt: skip

    def run(name: str, charge: Callable[..., None]) -> Callable[..., object]:
        method = getattr(str, name)

        def metered(context: MeteredContext, text: str, *args: Any, **kwargs: Any) -> object:
            charge(context.meter, text, *args, **kwargs)
            return method(text, *args, **kwargs)

        return metered

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
