"""The text that models write, as the events of messages: each character once."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from ag_ui.core import BaseEvent

from coterie.gateway.doors.agui.agui_events import text_end, text_pieces, text_start
from coterie.gateway.doors.agui.open_work import OpenWork, UnfinishedCall
from coterie.gateway.doors.agui.run_messages import RunMessages
from coterie.gateway.doors.agui.stream_positions import Position, TextSent
from coterie.runs.live_texts import LiveAnswer

_DATA = ("{", "[", "`")
"""With which an answer begins that is data: it comes whole, when it is recorded."""


class LiveEvent(NamedTuple):
    """An event, and the position after it."""

    event: BaseEvent
    position: Position


def live_events(
    work: OpenWork, messages: RunMessages, answers: Iterable[LiveAnswer], position: Position
) -> Iterator[LiveEvent]:
    """Yield the text that a client lacks.

    Args:
        work: The calls in progress.
        messages: Those of the run so far.
        answers: What models have written of their answers.
        position: Of the client.
    """
    for answer in answers:
        call = work.call(answer.call)
        if call is not None and call.is_said:
            for live in _of_answer(call, messages, answer, position):
                position = live.position
                yield live


def _of_answer(
    call: UnfinishedCall, messages: RunMessages, answer: LiveAnswer, position: Position
) -> Iterator[LiveEvent]:
    tail, sent = answer.tail, position.text(answer.call)
    if sent is not None and tail.attempt > sent.attempt:  # the attempt before was lost
        if not sent.has_ended:
            position = position.with_text(replace(sent, has_ended=True))
            yield LiveEvent(text_end(call.message(sent.attempt), call.subagent), position)
        position = position.without_text(answer.call)
        yield LiveEvent(messages.snapshot(), position)
        sent = None
    elif sent is not None and (sent.has_ended or tail.attempt < sent.attempt):
        return
    if sent is None:
        if tail.start or not tail.text.strip() or tail.text.lstrip().startswith(_DATA):
            return
        sent = TextSent(answer.call, tail.attempt)
        position = position.with_text(sent)
        yield LiveEvent(text_start(call.message(tail.attempt), call.subagent), position)
    if tail.start > sent.sent:
        return  # the server has no longer what comes between; the whole answer will have it
    piece = tail.text[sent.sent - tail.start :]
    for event in text_pieces(call.message(tail.attempt), piece, call.subagent):
        sent = sent.with_piece(event.delta)
        position = position.with_text(sent)
        yield LiveEvent(event, position)
