"""Server-Sent Events of an answer that is awaited: comments keep the connection open meanwhile."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import Final

from coterie.dsl.values import Json
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


async def awaited_events(
    opening: Iterable[bytes],
    answer: Awaitable[TeamAnswer],
    closing: Callable[[TeamAnswer], Iterable[bytes]],
    failing: Callable[[FailedRequest], Iterable[bytes]],
    stop: asyncio.Event,
) -> AsyncGenerator[bytes]:
    """Yield the events of an answer.

    Args:
        opening: What comes at once.
        answer: The answer.
        closing: Returns the events of an answer.
        failing: Returns those of an error.
        stop: Set when the gateway stops; the connection then ends without an answer.
    """
    answering = asyncio.ensure_future(answer)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        for event in opening:
            yield event
        while not answering.done():
            await asyncio.wait(
                {answering, stopping},
                timeout=COMMENT_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if stopping.done() and not answering.done():
                return
            if not answering.done():
                yield _COMMENT
        try:
            events = closing(await answering)
        except EXPECTED_ERRORS as error:
            events = failing(failed_work(error))
        for event in events:
            yield event
    finally:
        for task in (answering, stopping):
            task.cancel()
        await asyncio.gather(answering, stopping, return_exceptions=True)
