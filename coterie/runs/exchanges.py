"""Read the messages of a session and their replies from its history."""

from collections.abc import Iterator
from typing import NamedTuple, cast

from pydantic import JsonValue, TypeAdapter
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowHistory

from workflows.core.messages import SEND_MESSAGE, SessionInput

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


class Exchange(NamedTuple):
    """One message and its answer."""

    by: str
    message: JsonValue
    reply: JsonValue
    error: str
    """Why there is no reply; empty while it is open, or when it has one."""


def exchanges(history: WorkflowHistory) -> Iterator[Exchange]:
    """Yield the answered messages of one part of a session, in the order of their answers."""
    asked: dict[int, SessionInput] = {}
    for event in history.events:
        accepted = event.workflow_execution_update_accepted_event_attributes
        if accepted.accepted_request.input.name == SEND_MESSAGE:
            value = _value(accepted.accepted_request.input.args.payloads)
            asked[event.event_id] = SessionInput.model_validate(value)
        ended = event.workflow_execution_update_completed_event_attributes
        sent = asked.pop(ended.accepted_event_id, None)
        if sent is None:
            continue
        outcome = ended.outcome
        reply = _value(outcome.success.payloads) if outcome.HasField("success") else None
        yield Exchange(sent.by, sent.message, reply, outcome.failure.message)


def _value(payloads: object) -> JsonValue:
    known = list(cast("list[Payload]", payloads))
    if not known or known[0].metadata.get("encoding") == b"binary/null":
        return None
    return _JSON.validate_json(known[0].data)
