"""Trail causes: why an entry of a run's trail exists, as facts and not as words.

Programs read these; `workflows.core.causes.trail_because` renders them for people. As in
`dsl.model.causes`, every cause has a stable `code`, and a `message`, its own or its failure's, is
wording that no digest covers.
"""

from dataclasses import fields, is_dataclass, replace
from typing import Annotated, Any, TypeVar, cast

from pydantic import Field

from coterie.dsl.model.causes import AnyRouteCause
from coterie.dsl.model.outcomes import Failure
from coterie.dsl.task_graph.task_causes import AnyGraphTaskCause, GraphTaskEnded, GraphTaskStarted
from coterie.workflows.core.causes.agent_causes import AgentCause, EgressCause, HookDecided
from coterie.workflows.core.causes.message_causes import MessageCause
from coterie.workflows.core.causes.people_causes import ApprovalAsked, PeopleCause
from coterie.workflows.core.causes.step_causes import Failed, RunEnded, StepCause

TrailCause = Annotated[
    AnyRouteCause
    | StepCause
    | AgentCause
    | HookDecided
    | EgressCause
    | PeopleCause
    | MessageCause
    | AnyGraphTaskCause,
    Field(discriminator="code"),
]
"""Why an entry of the trail exists: each source of causes has its types in a file of its own."""


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
    cut = {field.name: _shorten_value(getattr(value, field.name)) for field in fields(value)}
    return replace(value, **{**cut, "condition": None} if "condition" in cut else cut)
