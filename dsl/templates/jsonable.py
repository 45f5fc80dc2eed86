"""Results of expressions as JSON: the only values that travel in a run."""

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from typing import Any, Final, Literal, cast

from jinja2 import Undefined
from jinja2.exceptions import UndefinedError
from pydantic import JsonValue

from coterie.dsl.model.evaluation_budget import (
    ATOMS,
    MAX_DEPTH,
    SHORT_TEXT,
    EvaluationMeter,
    digits_steps,
    text_bytes,
)
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.paths import MISSING, Missing, Path, get
from coterie.dsl.visible import is_unicode

# `dumps` would make a new encoder each time
_ENCODED: Final = json.JSONEncoder(ensure_ascii=False).encode


def outcome_view(outcome: Outcome) -> dict[str, JsonValue]:
    """Return `tasks.<name>` as one mapping, for a prompt: no times, and nothing twice."""
    error = outcome.error
    view: dict[str, JsonValue] = {
        "success": outcome.success,
        "status": outcome.status,
        "data": outcome.data,
        "error": None if error is None else _failure_view(error),
    }
    return {**view, "text": outcome.text} if outcome.text else view


def _all_of(outcome: Outcome) -> dict[str, JsonValue]:
    """Return everything that a path may name below `tasks.<name>`."""
    view = outcome_view(outcome)
    more = {"data_or_error": outcome.data_or_error, "text": outcome.text}
    return {**view, **more, "seconds": outcome.seconds}


def _failure_view(failure: Failure) -> dict[str, JsonValue]:
    return {"type": failure.type, "message": failure.message}


def look_up(value: object, segment: str) -> object:
    """Return the value of one segment of a path within the facts, or MISSING."""
    match value:
        case dict():
            return cast("dict[str, object]", value).get(segment, MISSING)
        case Outcome():
            return _all_of(value).get(segment, MISSING)
        case _:
            return get(value, (segment,))


def with_views(value: object) -> object:
    """Return mappings in which outcomes are mappings too, so that paths can follow them."""
    if isinstance(value, Outcome):
        return outcome_view(value)
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, object]", value)
        return {key: with_views(item) for key, item in mapping.items()}
    return value


def found_at(names: object, path: Path) -> JsonValue | Literal[Missing.MISSING]:
    """Return what lies at a path within the facts, as JSON has it; or MISSING."""
    for segment in path:
        names = look_up(names, segment)
        if names is MISSING:
            return MISSING
    return cast("JsonValue", with_views(names))


def start_at(names: object, path: Path, maximum: int) -> JsonValue | Literal[Missing.MISSING]:
    """Return the `beginning` of what lies at a path within the facts; or MISSING.

    However large it is, this copies no more than the start.
    """
    for segment in path:
        names = look_up(names, segment)
        if names is MISSING:
            return MISSING
    start = with_views(beginning(cast("JsonValue", names), maximum))
    return beginning(cast("JsonValue", start), maximum)


def to_json(value: object, meter: EvaluationMeter | None = None) -> JsonValue:
    """Return a copy of the value as JSON; with a meter, charge for every part first.

    Raises:
        TypeError: JSON has no such value.
        ValueError: JSON has no such number, or it is nested too deeply.
        UndefinedError: a part of it is missing.
        EvaluationLimitExceeded: the copy exceeds the rest of the budget.
    """
    return _copy_value(value, meter, 0)


def _copy_value(value: object, meter: EvaluationMeter | None, depth: int) -> JsonValue:
    kind = type(value)
    if kind in ATOMS:
        return cast("JsonValue", value)
    copied = _SCALARS.get(kind)
    if copied is not None:
        return copied(value, meter)
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH}")
    if kind is dict:
        return _copied_mapping(cast("dict[object, object]", value), meter, depth)
    if kind is list or kind is tuple:
        return _copied_list(cast("list[object]", value), meter, depth)
    return _convert_value(value, meter, depth)


def _copied_text(value: Any, meter: EvaluationMeter | None) -> JsonValue:
    if meter is not None:
        meter.charge(len(value) >> 9, text_bytes(value))
    return sound_text(cast("str", value))


def sound_text(text: str) -> str:
    """Return the text.

    Raises:
        ValueError: UTF-8 cannot carry it.
    """
    if not is_unicode(text):
        raise ValueError(f"{ascii(text)[:60]} contains half of a surrogate pair, not a character")
    return text


def _copied_integer(value: Any, meter: EvaluationMeter | None) -> JsonValue:
    if meter is not None:
        steps = digits_steps(value)
        if steps:
            meter.charge(steps)
    return cast("int", value)


def _copied_float(value: Any, meter: EvaluationMeter | None) -> JsonValue:
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a JSON number")
    return cast("float", value)


_SCALARS: dict[type, Callable[[Any, EvaluationMeter | None], JsonValue]] = {
    str: _copied_text,
    int: _copied_integer,
    float: _copied_float,
}


def _copied_mapping(
    mapping: Mapping[object, object], meter: EvaluationMeter | None, depth: int
) -> JsonValue:
    if meter is not None:
        meter.charge(2 * len(mapping), 64 * len(mapping) + 200)
        for key in mapping:
            if type(key) is not str or len(key) > SHORT_TEXT:
                meter.charge(1, text_bytes(key) if type(key) is str else meter.walk(key))
    return {
        sound_text(str(key)): _copy_value(item, meter, depth + 1) for key, item in mapping.items()
    }


def _copied_list(
    items: Collection[object], meter: EvaluationMeter | None, depth: int
) -> list[JsonValue]:
    if meter is not None:
        meter.charge(1 + len(items), 8 * len(items) + 100)
    return [
        cast("JsonValue", item) if type(item) in ATOMS else _copy_value(item, meter, depth + 1)
        for item in items
    ]


def _convert_value(value: object, meter: EvaluationMeter | None, depth: int) -> JsonValue:
    match value:
        case str():
            return sound_text(str(value))
        case Outcome():
            view = cast("Mapping[object, object]", outcome_view(value))
            return _copied_mapping(view, meter, depth)
        case Failure():
            return _failure_view(value)
        case Undefined():
            raise UndefinedError
        case Mapping():
            return _copied_mapping(cast("Mapping[object, object]", value), meter, depth)
        case Iterable() if not isinstance(value, bytes):
            return _copied_list(
                _collect_items(cast("Iterable[object]", value), meter), meter, depth
            )
        case _:
            raise TypeError(f"it gives a {type(value).__name__}, which is not data")


def _collect_items(items: Iterable[object], meter: EvaluationMeter | None) -> Collection[object]:
    if isinstance(items, Collection):
        return items
    result: list[object] = []
    for item in items:
        if meter is not None:
            meter.charge(1)
        result.append(item)
    return result


def beginning(value: JsonValue, maximum: int) -> JsonValue:
    """Return the start of the value: the first `maximum` characters of its JSON stay the same."""
    kind = type(value)
    if kind is str:  # nearly all values in conditions
        return cast("str", value)[: maximum + 1]
    if kind is not list and kind is not dict:
        return value
    remaining = maximum

    def cut(value: JsonValue) -> JsonValue:
        nonlocal remaining
        remaining -= 1
        match value:
            case str():
                return value[: maximum + 1]
            case list():
                return [cut(item) for item in islice(value, max(0, remaining) + 1)]
            case dict():
                pairs = islice(value.items(), max(0, remaining) + 1)
                return {key[: maximum + 1]: cut(item) for key, item in pairs}
            case _:
                return value

    return cut(value)


def brief(value: JsonValue, maximum: int = 60) -> str:
    """Return a value for a sentence: JSON, cut at `maximum` characters."""
    text = _ENCODED(beginning(value, maximum))
    return text if len(text) <= maximum else f"{text[: maximum - 3]}..."
