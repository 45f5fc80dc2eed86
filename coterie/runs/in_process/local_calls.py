"""Read local activities from the events of a history: each is one marker, written when it ended.

Temporal does not record what a local activity was asked; a skill's result repeats it.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent

from coterie.activities.contracts import CALL_SKILL, FailureType, SkillRequest, SkillResult
from coterie.storage.wire import data_converter, text_of

Model = TypeVar("Model", bound=BaseModel)
_MARKER = "core_local_activity"


class _Moment(BaseModel):
    seconds: int = 0
    nanos: int = 0


class _Data(BaseModel):
    """What the SDK keeps of a local activity beside its result."""

    attempt: int = 1
    seq: int = 0
    activity_id: str = ""
    activity_type: str = ""
    complete_time: _Moment = _Moment()
    """By the run's clock."""


class LocalCall(NamedTuple):
    """A skill that ran as a local activity."""

    id: str
    summary: str
    request: SkillRequest
    """What was asked; of a failed call, only which skill."""
    number: int
    """In the order in which the run began them."""
    ended: datetime
    result: SkillResult | None
    failure: Failure | None


def local_calls(events: Sequence[HistoryEvent]) -> dict[int, LocalCall]:
    """Return `{event id: the skill call that this marker stands for}`, in order.

    The markers of one workflow task stand in the order in which their calls ended; the calls are
    returned in the order in which they began. A call that its worker has handed on to an activity
    is none.
    """
    found = {event.event_id: call for event in events if (call := _call_of(event)) is not None}
    tasks: dict[int, list[int]] = {}
    for event in events:
        if event.event_id in found:
            task = event.marker_recorded_event_attributes.workflow_task_completed_event_id
            tasks.setdefault(task, []).append(event.event_id)
    ordered: dict[int, LocalCall] = {}
    for ids in tasks.values():
        begun = sorted((found[id] for id in ids), key=lambda call: call.number)
        ordered |= dict(zip(ids, begun, strict=True))
    return ordered


def _call_of(event: HistoryEvent) -> LocalCall | None:
    marker = event.marker_recorded_event_attributes
    if marker.marker_name != _MARKER:
        return None
    data = _decode_payload(marker.details["data"].payloads, _Data)
    if data is None or data.activity_type != CALL_SKILL:
        return None
    failure = marker.failure if marker.HasField("failure") else None
    if failure is not None and failure.application_failure_info.type == FailureType.NOT_LOCAL:
        return None
    result = _decode_payload(marker.details["result"].payloads, SkillResult)
    summary = text_of(event.user_metadata.summary)
    asked = None if result is None else result.request
    return LocalCall(
        data.activity_id,
        summary,
        asked or SkillRequest(skill=summary.rpartition(": ")[2], key=""),
        data.seq,
        _at(data.complete_time),
        result,
        failure,
    )


def _at(moment: _Moment) -> datetime:
    return datetime.fromtimestamp(moment.seconds + moment.nanos / 1e9, UTC)


def _decode_payload(payloads: Sequence[Payload], model: type[Model]) -> Model | None:
    try:
        value = data_converter.payload_converter.from_payload(payloads[0], model)
    except (ValidationError, ValueError, RuntimeError, IndexError):
        return None
    return value if isinstance(value, model) else None
