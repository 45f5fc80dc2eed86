"""Causes as answers show them: without wording that stands beside them, and shortened."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from coterie.dsl.model.outcomes import Failure
from coterie.dsl.task_graph.task_causes import GraphTaskEnded, GraphTaskStarted
from coterie.workflows.core.causes.people_causes import ApprovalAsked
from coterie.workflows.core.causes.step_causes import Failed, RunEnded
from coterie.workflows.core.causes.trail_causes import TrailCause

Facts = TypeVar("Facts")
_MAX_TEXT = 200
_MAX_ITEMS = 20


def without_wording(cause: TrailCause | None) -> TrailCause | None:
    """Return the cause without its message, for views that show the text beside it."""
    if isinstance(cause, Failed | RunEnded):
        return replace(cause, failure=Failure(cause.failure.type, ""))
    if isinstance(cause, GraphTaskEnded):
        failure, recovery = _without_message(cause.failure), _without_message(cause.recovery)
        return replace(cause, failure=failure, recovery=recovery)
    if isinstance(cause, GraphTaskStarted | ApprovalAsked):
        return replace(cause, failure=_without_message(cause.failure))
    if not getattr(cause, "message", ""):
        return cause
    return cast("TrailCause", replace(cast("Any", cause), message=""))


def _without_message(failure: Failure | None) -> Failure | None:
    return None if failure is None else Failure(failure.type, "")


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
