"""The messages of a recorded session as entries of a test."""

import json
from collections.abc import Iterator, Sequence

from pydantic import JsonValue
from temporalio.client import WorkflowHistory

from coterie.runs.exchanges import Exchange, exchanges
from coterie.testing.files.case_document import MessageDocument

_MAX_REPLY_LENGTH = 300
"""Characters of JSON; of a longer reply a test only expects that it exists."""


def session_messages(parts: Sequence[WorkflowHistory]) -> Iterator[MessageDocument]:
    """Yield the messages in the order of their arrival, each with its reply or its refusal.

    A message that came while the run worked is sent when the run waits for it.
    """
    for part in parts:
        for one in exchanges(part):
            yield message_document(one)


def message_document(one: Exchange) -> MessageDocument:
    """Return a message as an entry of a test."""
    return MessageDocument.model_validate(dict(_fields(one)))


def _fields(one: Exchange) -> Iterator[tuple[str, JsonValue]]:
    yield "message", one.message
    yield "by", one.by or "unknown"
    if int(one.idle_seconds):
        yield "after", float(int(one.idle_seconds))
    if one.code:
        yield "refused", one.code
    elif one.answered:
        yield "reply", _check(one.reply)


def _check(reply: JsonValue) -> JsonValue:
    if len(json.dumps(reply)) > _MAX_REPLY_LENGTH:
        return {"exists": True}
    return {"equals": reply} if isinstance(reply, dict) else reply
