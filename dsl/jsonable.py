"""Whatever an expression gives, as JSON: the only values that travel in a run."""

import math
from collections.abc import Iterable, Mapping
from typing import cast

from jinja2 import Undefined
from jinja2.exceptions import UndefinedError
from pydantic import JsonValue

from dsl.outcomes import Failure, Outcome
from dsl.paths import MISSING, get


def outcome_view(outcome: Outcome) -> dict[str, JsonValue]:
    """What `tasks.<name>` shows: success, status, data, error."""
    error = outcome.error
    return {
        "success": outcome.success,
        "status": outcome.status,
        "data": outcome.data,
        "error": None if error is None else _failure_view(error),
    }


def _failure_view(failure: Failure) -> dict[str, JsonValue]:
    return {"type": failure.type, "message": failure.message}


def look_up(value: object, segment: str) -> object:
    """What one segment of a path leads to within the facts, or MISSING."""
    match value:
        case dict():
            return cast("dict[str, object]", value).get(segment, MISSING)
        case Outcome():
            return outcome_view(value).get(segment, MISSING)
        case _:
            return get(value, (segment,))


def with_views(value: object) -> object:
    """Mappings as they are, with outcomes in them as mappings, so that paths can walk them."""
    if isinstance(value, Outcome):
        return outcome_view(value)
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, object]", value)
        return {key: with_views(item) for key, item in mapping.items()}
    return value


def to_json(value: object) -> JsonValue:
    """The value as JSON.

    Raises:
        TypeError: it is nothing that JSON has.
        ValueError: it is a number that JSON has not.
        UndefinedError: something in it is not there.
    """
    match value:
        case None | bool() | int():
            return value
        case str():
            return str(value)
        case float():
            if not math.isfinite(value):
                raise ValueError(f"{value} is not a JSON number")
            return value
        case Outcome():
            return outcome_view(value)
        case Failure():
            return _failure_view(value)
        case Undefined():
            raise UndefinedError
        case Mapping():
            mapping = cast("Mapping[object, object]", value)
            return {str(key): to_json(item) for key, item in mapping.items()}
        case Iterable() if not isinstance(value, bytes):
            return [to_json(item) for item in cast("Iterable[object]", value)]
        case _:
            raise TypeError(f"it gives a {type(value).__name__}, which is no data")
