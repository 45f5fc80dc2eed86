"""Answers in the form of `response`, whole and as events, and the ids that continue them. Pure."""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from pydantic import JsonValue

from coterie.activities.contracts import TokenUsage
from coterie.dsl.values import Json
from coterie.gateway.doors.openai.openai_errors import error_object
from coterie.gateway.doors.openai.server_events import data_event, pieces_of
from coterie.gateway.doors.openai.team_answers import TeamAnswer
from coterie.gateway.operations.error_reports import FailedRequest

_PREFIX = "resp_"
_ANSWERED, _WAITS = "a", "w"
_DIGITS = 32
MAX_RESPONSE_ID = 2_000


class ResponseId(NamedTuple):
    """What the id of a response says: no gateway has to remember any."""

    run: str
    message: str
    waits: bool = False
    """Whether it was no answer yet: a person had to decide first."""

    def __str__(self) -> str:
        """Write the id."""
        text = f"{_WAITS if self.waits else _ANSWERED}{self.message}{self.run}"
        return _PREFIX + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_response_id(text: str) -> ResponseId | None:
    """Read the id of a response; None if it is none. It proves nothing."""
    coded = text.removeprefix(_PREFIX)
    if len(text) > MAX_RESPONSE_ID or coded == text:
        return None
    try:
        plain = base64.b64decode(coded + "=" * (-len(coded) % 4), b"-_", validate=True).decode()
    except (ValueError, binascii.Error):
        return None
    kind, message, run = plain[:1], plain[1 : _DIGITS + 1], plain[_DIGITS + 1 :]
    if kind not in (_ANSWERED, _WAITS) or len(message) != _DIGITS or not run:
        return None
    return ResponseId(run, message, waits=kind == _WAITS)


@dataclass(slots=True)
class ResponseObject:
    """One answer to a client of `responses`."""

    run: str
    message: str
    model: str
    created: int
    metadata: Json
    previous: str | None
    numbers: Iterator[int] = field(default_factory=count)
    """Of the events of a stream."""
    _index: int = field(default=0, init=False)
    """Of the item of the output that is written."""
    _has_text: bool = field(default=False, init=False)
    """Whether the text of the item has begun."""

    def whole(self, answer: TeamAnswer) -> Json:
        """Return the answer as one object."""
        item = self._item("completed", [_part(answer.text)])
        return {
            **self._head("completed", answer.waits),
            "output": [item],
            "usage": _usage(answer.usage),
        }

    def opening(self) -> Iterator[bytes]:
        """Yield the events before the answer."""
        begun: Json = {**self._head("in_progress"), "output": [], "usage": None}
        yield self._event("response.created", {"response": begun})
        yield self._event("response.in_progress", {"response": begun})
        yield from self._begin_item()

    def piece(self, text: str) -> Iterator[bytes]:
        """Yield the events of a piece of the text."""
        if not self._has_text:
            self._has_text = True
            yield self._event("response.content_part.added", {**self._at(), "part": _part("")})
        for piece in pieces_of(text):
            delta: Json = {**self._at(), "delta": piece, "logprobs": []}
            yield self._event("response.output_text.delta", delta)

    def closing(self, answer: TeamAnswer, sent: str) -> Iterator[bytes]:
        """Yield the events of the answer, after the text that was sent.

        If that is the beginning of another text, its item ends as incomplete, and the next item of
        the output has the answer. The response itself has the answer alone.
        """
        if not answer.text.startswith(sent):
            yield from self._end_item(sent, "incomplete")
            self._index, self._has_text = self._index + 1, False
            yield from self._begin_item()
            sent = ""
        if len(answer.text) > len(sent) or not self._has_text:
            yield from self.piece(answer.text[len(sent) :])
        yield from self._end_item(answer.text, "completed")
        yield self._event("response.completed", {"response": self.whole(answer)})

    def _begin_item(self) -> Iterator[bytes]:
        added: Json = {"output_index": self._index, "item": self._item("in_progress", [])}
        yield self._event("response.output_item.added", added)

    def _end_item(self, text: str, status: str) -> Iterator[bytes]:
        done: Json = {**self._at(), "text": text, "logprobs": []}
        yield self._event("response.output_text.done", done)
        yield self._event("response.content_part.done", {**self._at(), "part": _part(text)})
        item = self._item(status, [_part(text)])
        yield self._event("response.output_item.done", {"output_index": self._index, "item": item})

    def failing(self, failed: FailedRequest) -> Iterator[bytes]:
        """Yield the error, with which a stream ends.

        The clients raise it for the key `error`, which the event does not have by its definition.
        """
        error = error_object(failed)
        problem: Json = {**error, "error": error}
        problem.pop("type")
        yield self._event("error", problem)

    def _at(self) -> Json:
        return {"item_id": self._item_id, "output_index": self._index, "content_index": 0}

    @property
    def _item_id(self) -> str:
        return f"msg_{self.message}{f'_{self._index}' if self._index else ''}"

    def _item(self, status: str, content: list[JsonValue]) -> Json:
        return {
            "id": self._item_id,
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": content,
        }

    def _head(self, status: str, waits: bool = False) -> Json:
        return {
            "id": str(ResponseId(self.run, self.message, waits)),
            "object": "response",
            "created_at": self.created,
            "status": status,
            "model": self.model,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": self.metadata,
            "previous_response_id": self.previous,
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "temperature": None,
            "top_p": None,
            "text": {"format": {"type": "text"}},
        }

    def _event(self, kind: str, value: Json) -> bytes:
        return data_event({"type": kind, "sequence_number": next(self.numbers), **value}, kind)


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


def _usage(usage: TokenUsage) -> Json:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total,
    }
