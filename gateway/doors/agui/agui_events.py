"""Write events of AG-UI as server-sent events."""

import json
from collections.abc import Iterator

from ag_ui.core import (
    BaseEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from pydantic import JsonValue

MAX_DELTA = 4_000
"""Characters of a text in one event: a client on a bad connection gets on, piece by piece."""
MAX_ARGUMENTS = 100_000
"""Characters of the arguments or the result of a tool that a client gets."""


def sent_event(event: BaseEvent, id: str) -> bytes:
    """Format an event with the position after it: lines end with LF, the type comes first."""
    fields = event.model_dump(mode="json", by_alias=True, exclude_unset=True)
    text = json.dumps({"type": event.type.value, **fields}, ensure_ascii=False)
    return f"id: {id}\ndata: {text}\n\n".encode(errors="replace")


def json_text(value: JsonValue) -> str:
    """Format a value as JSON for people."""
    return json.dumps(value, ensure_ascii=False)


def bounded_json(value: JsonValue) -> str:
    """Format the arguments of a tool: valid JSON, which says so if they are left out."""
    text = json_text(value)
    if len(text) <= MAX_ARGUMENTS:
        return text
    return json_text({"left_out": f"{len(text):,} characters"})


def bounded_text(text: str) -> str:
    """Return a result of a tool, cut to what a client gets."""
    if len(text) <= MAX_ARGUMENTS:
        return text
    return f"{text[:MAX_ARGUMENTS]}... [{len(text) - MAX_ARGUMENTS:,} more characters]"


def whole_text(message: str, text: str, subagent: str | None) -> Iterator[BaseEvent]:
    """Yield the events of a message that is complete."""
    yield text_start(message, subagent)
    yield from text_pieces(message, text, subagent)
    yield text_end(message, subagent)


def reasoning_events(message: str, text: str, subagent: str | None) -> Iterator[BaseEvent]:
    """Yield the events of what people may read of a model's thinking."""
    named = {"message_id": message, **({} if subagent is None else {"subagent_run_id": subagent})}
    yield ReasoningStartEvent.model_validate(named)
    yield ReasoningMessageStartEvent.model_validate({**named, "role": "reasoning"})
    for start in range(0, len(text), MAX_DELTA):
        piece = text[start : start + MAX_DELTA]
        yield ReasoningMessageContentEvent.model_validate({**named, "delta": piece})
    yield ReasoningMessageEndEvent.model_validate(named)
    yield ReasoningEndEvent.model_validate(named)


def text_start(message: str, subagent: str | None) -> BaseEvent:
    """Return the start of a message of the assistant."""
    if subagent is None:
        return TextMessageStartEvent(message_id=message, role="assistant")
    return TextMessageStartEvent(message_id=message, role="assistant", subagent_run_id=subagent)


def text_pieces(message: str, text: str, subagent: str | None) -> Iterator[TextMessageContentEvent]:
    """Yield the text of a message, in events of a bounded size."""
    for start in range(0, len(text), MAX_DELTA):
        piece = text[start : start + MAX_DELTA]
        if subagent is None:
            yield TextMessageContentEvent(message_id=message, delta=piece)
        else:
            yield TextMessageContentEvent(message_id=message, delta=piece, subagent_run_id=subagent)


def text_end(message: str, subagent: str | None) -> BaseEvent:
    """Return the end of a message."""
    if subagent is None:
        return TextMessageEndEvent(message_id=message)
    return TextMessageEndEvent(message_id=message, subagent_run_id=subagent)
