"""Server-Sent Events of an answer that is awaited: comments keep the connection open meanwhile."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Final, Protocol

from coterie.dsl.values import Json
from coterie.gateway.doors.openai.reply_source import ReplySource
from coterie.gateway.doors.openai.team_answers import TeamAnswer
from coterie.gateway.operations.error_reports import FailedRequest
from coterie.gateway.operations.expected_errors import EXPECTED_ERRORS, failed_work

COMMENT_SECONDS: Final = 10.0
_COMMENT: Final = b": working\n\n"
_PIECE: Final = 2_000
"""Characters of one event with a part of the text."""


def data_event(value: Json, name: str = "") -> bytes:
    """Return an event with JSON, which has no line breaks."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


def pieces_of(text: str) -> Iterable[str]:
    """Return a text in parts that events carry."""
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


class StreamedForm(Protocol):
    """Writes the events of one answer, as an endpoint has them."""

    def opening(self) -> Iterable[bytes]:
        """Return what comes at once."""
        ...

    def piece(self, text: str) -> Iterable[bytes]:
        """Return the events of a piece of the text."""
        ...

    def closing(self, answer: TeamAnswer, sent: str) -> Iterable[bytes]:
        """Return the events of the answer, after the text that was sent."""
        ...

    def failing(self, failed: FailedRequest) -> Iterable[bytes]:
        """Return the events of an error, with which a stream ends."""
        ...


async def awaited_events(
    form: StreamedForm, answer: Awaitable[TeamAnswer], live: ReplySource | None, stop: asyncio.Event
) -> AsyncGenerator[bytes]:
    """Yield the events of an answer: its text as it is written, then what is lacking.

    Args:
        form: Writes them.
        answer: The answer.
        live: The text while a model writes it; None if nobody can see that.
        stop: Set when the gateway stops; the connection then ends without an answer.
    """
    answering = asyncio.ensure_future(answer)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        for event in form.opening():
            yield event
        wake = asyncio.Event()
        async with nullcontext() if live is None else live.opened(wake) as reply:
            while not answering.done():
                if not await _is_news({answering, stopping}, wake):
                    yield _COMMENT
                elif stopping.done() and not answering.done():
                    return
                piece = "" if reply is None or answering.done() else await reply.piece()
                for event in form.piece(piece) if piece else ():
                    yield event
            for event in await _last_events(form, answering, "" if reply is None else reply.sent):
                yield event
    finally:
        for task in (answering, stopping):
            task.cancel()
        await asyncio.gather(answering, stopping, return_exceptions=True)


async def _is_news(tasks: set[asyncio.Future[Any]], wake: asyncio.Event) -> bool:
    """Wait until a task is done or the event is set; return whether that was within some time."""
    waking = asyncio.ensure_future(wake.wait())
    try:
        done, _ = await asyncio.wait(
            {*tasks, waking}, timeout=COMMENT_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        waking.cancel()
    wake.clear()
    return bool(done)


async def _last_events(
    form: StreamedForm, answering: Awaitable[TeamAnswer], sent: str
) -> Iterable[bytes]:
    try:
        answer = await answering
    except EXPECTED_ERRORS as error:
        return form.failing(failed_work(error))
    if answer.waits and sent:  # the question stands below what the model has written
        answer = replace(answer, text=f"{sent}\n\n{answer.text}")
    return form.closing(answer, sent)
