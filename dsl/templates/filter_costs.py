"""The cost of each filter of Jinja2, charged before it runs, with the filter's own arguments.

Each function takes the arguments of its filter, and returns the value for the filter.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from jinja2.filters import ignore_case, make_attrgetter, make_multi_attrgetter

from coterie.dsl.model.evaluation_budget import EvaluationMeter, text_bytes
from coterie.dsl.templates import text_costs as texts
from coterie.dsl.templates import value_costs as values
from coterie.dsl.templates.shown_values import MeteredContext, text_of

Prepare = Callable[..., object]
"""`(context, value, *args, **kwargs)`: charges, and returns the value for the filter."""


def _free(context: MeteredContext, value: object, *args: object, **kwargs: object) -> object:
    return value


def _on_text(charge: Callable[..., None]) -> Prepare:
    """Make a filter of texts: convert the value to text, then charge with the arguments."""

    def prepare(context: MeteredContext, value: object, *args: Any, **kwargs: Any) -> str:
        text = text_of(value, context.meter)
        charge(context.meter, text, *args, **kwargs)
        return text

    return prepare


def scan(growth: int) -> Prepare:
    """Charge one pass over the text, which makes at most `growth` times as much."""

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


def dots(attribute: object) -> int:
    """Return the cost of looking up an attribute: one step per segment."""
    return 2 + attribute.count(".") + attribute.count(",") if isinstance(attribute, str) else 2


def _each(context: MeteredContext, value: object, *args: object, **kwargs: object) -> object:
    """Charge a filter that reads every item, perhaps an attribute of it."""
    named = [kwargs.get("attribute"), *args[:1]]
    values.charge_items(context.meter, value, 2 + max(map(dots, named)))
    return value


def _key(meter: EvaluationMeter, case_sensitive: bool) -> Callable[[Any], Any] | None:
    """Return a function that makes a sort key: each text is charged, then copied in lower case."""
    if case_sensitive:
        return None

    def lower(value: Any) -> Any:
        if isinstance(value, str):
            texts.charge_scan(meter, value, 1)
        return ignore_case(value)

    return lower


def _charge_keys(
    context: MeteredContext, value: object, attribute: Any, case_sensitive: bool
) -> object:
    """Charge for the keys by which the filter sorts or groups."""
    context.meter.charge(5)
    _each(context, value, attribute)
    after = _key(context.meter, case_sensitive)
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
    after = _key(context.meter, case_sensitive)
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
    after = _key(context.meter, case_sensitive)
    keys: Iterable[object] = value.keys() if by == "key" else value.values()
    values.charge_sorting(context.meter, [after(key) if after else key for key in keys])
    return value


def _list_filter(context: MeteredContext, value: object) -> object:
    values.charge_items(context.meter, value)
    return value


def _reverse_filter(context: MeteredContext, value: object) -> object:
    if isinstance(value, str):
        texts.charge_scan(context.meter, value, 1)
    else:
        values.charge_items(context.meter, value)
    return value


def _number(context: MeteredContext, value: object, *args: object, **kwargs: object) -> object:
    values.charge_number(context.meter, value)
    return value


def _round_filter(
    context: MeteredContext, value: object, precision: int = 0, method: str = "common"
) -> object:
    values.check_precision(precision)
    return value


def _url(context: MeteredContext, value: object) -> object:
    """Convert nested values to texts: the filter writes other values as Python does."""
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


PREPARED: Final[dict[str, Prepare]] = {
    "abs": _number,
    "attr": _free,
    "count": _free,
    "d": _free,
    "default": _free,
    "filesizeformat": _number,
    "first": _free,
    "float": _number,
    "int": _number,
    "last": _free,
    "length": _free,
    "capitalize": scan(1),
    "lower": scan(1),
    "upper": scan(1),
    "indent": _on_text(_indent),
    "striptags": _on_text(texts.charge_tags),
    "title": _on_text(_title),
    "trim": _on_text(_trim),
    "truncate": _on_text(_truncate),
    "wordcount": _on_text(_wordcount),
    "wordwrap": _on_text(_wordwrap),
    "dictsort": _dictsort,
    "groupby": _groupby,
    "items": _list_filter,
    "list": _list_filter,
    "map": _each,
    "max": _unique,
    "min": _unique,
    "reject": _each,
    "rejectattr": _each,
    "reverse": _reverse_filter,
    "round": _round_filter,
    "select": _each,
    "selectattr": _each,
    "sort": _sort,
    "unique": _unique,
    "urlencode": _url,
}
"""The costs of every filter that Jinja2 runs."""
