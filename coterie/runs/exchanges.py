"""Read the messages of a session and their replies from its histories."""

from collections.abc import Iterator
from typing import NamedTuple, cast

from pydantic import JsonValue, TypeAdapter
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory

from coterie.runs.previous_histories import previous_history
from coterie.runs.run_client import Run
from coterie.workflows.core.messages import SEND_MESSAGE, SessionInput
from coterie.workflows.core.requests import NOT_YET
from coterie.workflows.core.state import RunState

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)

_WORK = (
    EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
    EventType.EVENT_TYPE_MARKER_RECORDED,
    EventType.EVENT_TYPE_TIMER_FIRED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED,
)
"""Events after which a run does something, or has done it."""


class Exchange(NamedTuple):
    """One message and its answer."""

    id: str
    """Of the message: sent again with it, it is the same message."""
    by: str
    message: JsonValue
    answered: bool = False
    reply: JsonValue = None
    error: str = ""
    """Why there is no reply; empty while it is open, or when it has one."""
    code: str = ""
    """The type of that error."""
    idle_seconds: float = 0.0
    """How long the run had done nothing when the message came."""


async def all_exchanges(client: Client, run: str) -> list[Exchange]:
    """Return the messages of a session in the order of their arrival.

    Those of all its histories, and those of the session that it was forked from, up to that point.
    """
    return await _up_to(client, await Run(client, run).history())


async def _up_to(client: Client, history: WorkflowHistory) -> list[Exchange]:
    """Return the messages of a session up to the end of one of its histories."""
    found = list(exchanges(history))
    before = await previous_history(client, history)
    while before is not None and not before.is_other_run:
        found = [*exchanges(before.history), *found]
        before = await previous_history(client, before.history)
    if before is None or before.point is None or before.point.carried is None:
        return found
    known = RunState.resumed(before.point.carried).session.received
    return [*(await _up_to(client, before.history))[:known], *found]


def exchanges(history: WorkflowHistory) -> Iterator[Exchange]:
    """Yield the messages of one history, in the order of their arrival.

    A message that moved to the next history unanswered is not one of this history.
    """
    asked: dict[int, Exchange] = {}
    worked = history.events[0].event_time
    for event in history.events:
        if event.event_type in _WORK:
            worked = event.event_time
        accepted = event.workflow_execution_update_accepted_event_attributes
        request = accepted.accepted_request
        if request.input.name == SEND_MESSAGE:
            sent = SessionInput.model_validate(_value(request.input.args.payloads))
            idle = (event.event_time.ToDatetime() - worked.ToDatetime()).total_seconds()
            asked[event.event_id] = Exchange(
                request.meta.update_id, sent.by, sent.message, idle_seconds=idle
            )
        ended = event.workflow_execution_update_completed_event_attributes
        known = asked.get(ended.accepted_event_id)
        if known is None:
            continue
        outcome = ended.outcome
        code = outcome.failure.application_failure_info.type
        if code == NOT_YET:
            del asked[ended.accepted_event_id]
            continue
        reply = _value(outcome.success.payloads) if outcome.HasField("success") else None
        asked[ended.accepted_event_id] = known._replace(
            answered=True, reply=reply, error=outcome.failure.message, code=code
        )
    yield from asked.values()


def _value(payloads: object) -> JsonValue:
    known = list(cast("list[Payload]", payloads))
    if not known or known[0].metadata.get("encoding") == b"binary/null":
        return None
    return _JSON.validate_json(known[0].data)
