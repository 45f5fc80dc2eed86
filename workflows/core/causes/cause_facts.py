"""The facts of a cause: those that a digest covers, and those that fit into an answer."""

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from typing import Any, Final, TypeVar, cast

from pydantic import TypeAdapter

from dsl.model.outcomes import Failure
from dsl.task_graph.task_causes import GraphTaskEnded
from workflows.core.causes.step_causes import Failed, RunEnded
from workflows.core.causes.trail_causes import TrailCause

_WORDING: Final = {"message": True, "failure": {"message"}}
Facts = TypeVar("Facts")
_MAX_TEXT = 200
_MAX_ITEMS = 20


def cause_facts(cause: TrailCause | None) -> bytes:
    """Return the facts of a cause as JSON, without wording: equal facts give equal bytes."""
    if cause is None:
        return b""
    try:
        return _json_of(type(cause))(cause)
    except ValueError:  # half of a surrogate pair: only escaped JSON holds it
        kind = TypeAdapter(type(cause))
        facts = kind.dump_python(cause, exclude=_WORDING, exclude_defaults=True)
        return json.dumps(facts).encode()


@cache
def _json_of(kind: type[TrailCause]) -> Callable[[TrailCause], bytes]:
    """Return the serializer of one type of cause: that of the union would try each type in turn."""
    named = {one.name for one in fields(kind)}
    wording = {key: part for key, part in _WORDING.items() if key in named}
    write = TypeAdapter(kind).serializer.to_json
    return partial(write, exclude=wording or None, exclude_defaults=True)


def without_wording(cause: TrailCause | None) -> TrailCause | None:
    """Return the cause without its message, for views that show the text beside it."""
    if isinstance(cause, Failed | RunEnded):
        return replace(cause, failure=Failure(cause.failure.type, ""))
    if isinstance(cause, GraphTaskEnded) and cause.failure is not None:
        return replace(cause, failure=Failure(cause.failure.type, ""))
    if not getattr(cause, "message", ""):
        return cause
    return cast("TrailCause", replace(cast("Any", cause), message=""))


def shortened(facts: Facts) -> Facts:
    """Return the facts without conditions, and with long texts and lists shortened."""
    return cast("Facts", _shorten_value(facts))


def _shorten_value(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_MAX_TEXT]
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        return tuple(_shorten_value(item) for item in items[:_MAX_ITEMS])
    if not is_dataclass(value) or isinstance(value, type):
        return value
    cut = {one.name: _shorten_value(getattr(value, one.name)) for one in fields(value)}
    return replace(value, **{**cut, "condition": None} if "condition" in cut else cut)
