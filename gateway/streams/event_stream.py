"""The messages of one connection, in the form of Server-Sent Events."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Literal

from temporalio.service import RPCError

from coterie.dsl.values import Frozen
from coterie.failures import CommandError
from coterie.gateway.streams.cursors import Cursor, joint_cursor
from coterie.gateway.streams.event_rows import StreamRow
from coterie.gateway.streams.live_calls import StreamedText
from coterie.gateway.streams.stream_hub import StreamHub
from coterie.gateway.streams.viewers import Viewer
from coterie.runs.call_errors import call_error

RETRY_MILLISECONDS = 1_000
"""After which a client connects again."""
KEEP_ALIVE_SECONDS = 15.0
MAX_SECONDS = 900.0
"""Of one connection; then the client connects again, and its permission is judged again."""
_COMMENT = b": keep-alive\n\n"

EventName = Literal["opened", "history", "calls", "text", "gone", "closing"]
"""`history` has a cursor; the others are states of the connection, or of what is in progress."""


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """What a client asks for."""

    runs: tuple[str, ...]
    after: Mapping[int, Cursor] = field(default_factory=dict[int, Cursor])
    """`{place of the run: what the client has}`."""
    whole: bool = False
    """Whether it wants the events of runs from their start; else the newest ones first."""
    is_joint: bool = False
    """Whether the cursors are those of several runs."""
    expires: float | None = None
    """When the session of the client ends, in seconds since the epoch."""


class Opened(Frozen):
    """The stream of a run begins."""

    run: str
    cursor: str
    """The position before its first event; earlier ones are read on demand."""
    is_whole: bool
    """Whether there are no earlier events."""


class Gone(Frozen):
    """The stream of a run ends: the run does not exist, or was deleted."""

    run: str
    message: str


class Closing(Frozen):
    """The connection ends."""

    because: Literal["shutdown", "session expired", "time limit"]
    resume: bool
    """Whether to connect again with the latest cursor."""


def message(event: EventName, data: bytes, id: str = "") -> bytes:
    """Format one event; data is JSON, which has no line breaks."""
    head = f"id: {id}\nevent: {event}\n" if id else f"event: {event}\n"
    return b"%sdata: %s\n\n" % (head.encode(), data)


def _state(event: EventName, value: Frozen) -> bytes:
    return message(event, value.model_dump_json(exclude_none=True).encode())


class EventStream:
    """The messages for one client; those of all its runs in one stream."""

    def __init__(self, hub: StreamHub, request: StreamRequest) -> None:
        self._hub = hub
        self._request = request
        self._wake = asyncio.Event()
        self._until = time.monotonic() + MAX_SECONDS
        self._viewers: dict[int, Viewer] = {}
        self._positions: dict[int, Cursor] = dict(request.after)

    async def messages(self) -> AsyncGenerator[bytes]:
        """Yield the messages, in order; also a comment when there is nothing to say for long.

        Raises:
            CommandError: The only run that was asked for does not exist. No message came before.
        """
        async with AsyncExitStack() as stack:
            opening: list[bytes] = []
            for place in range(len(self._request.runs)):
                opening += [one async for one in self._open(stack, place)]
            yield b"retry: %d\n\n" % RETRY_MILLISECONDS
            for one in opening:
                yield one
            while True:
                self._wake.clear()
                for place in list(self._viewers):
                    async for one in self._news(place):
                        yield one
                ending = self._ending()
                if ending is not None:
                    yield _state("closing", ending)
                if ending is not None or not self._viewers:
                    return
                if not await self._wait_for_news():
                    yield _COMMENT

    async def _open(self, stack: AsyncExitStack, place: int) -> AsyncGenerator[bytes]:
        run = self._request.runs[place]
        try:
            follower = await stack.enter_async_context(self._hub.following(run, self._wake))
            after = self._request.after.get(place)
            viewer = Viewer(follower, self._hub.pages, after, whole=self._request.whole)
            await viewer.begin()
        except (CommandError, RPCError) as error:
            failure = call_error(run, error) if isinstance(error, RPCError) else error
            if len(self._request.runs) == 1:
                raise failure from None
            yield _state("gone", Gone(run=run, message=str(failure)))
            return
        self._viewers[place] = viewer
        self._note_position(place)
        begins = self._request.whole or follower.first_row_is_oldest
        cursor = "" if viewer.position is None else str(viewer.position)
        opened = Opened(run=run, cursor=cursor, is_whole=after is None and begins)
        yield message("opened", opened.model_dump_json().encode(), self._id(place))

    async def _news(self, place: int) -> AsyncGenerator[bytes]:
        viewer = self._viewers[place]
        try:
            while True:
                for row in viewer.new_rows():
                    yield self._of_row(place, row)
                if not viewer.is_behind:
                    break
                before = viewer.position
                async for row in viewer.missed_rows(lambda: self._ending() is not None):
                    yield self._of_row(place, row)
                if self._ending() is not None:
                    return
                if viewer.position == before:
                    break  # its follower has not come so far yet
        except RPCError as error:
            viewer.follower.failure = call_error(viewer.follower.run, error)
        for state in viewer.news():
            yield _state("text" if isinstance(state, StreamedText) else "calls", state)
        failure = viewer.follower.failure
        if failure is not None:
            del self._viewers[place]
            yield _state("gone", Gone(run=viewer.follower.run, message=str(failure)))

    def _of_row(self, place: int, row: StreamRow) -> bytes:
        self._positions[place] = row.cursor
        return message("history", row.data, self._id(place))

    def _note_position(self, place: int) -> None:
        position = self._viewers[place].position
        if position is not None:
            self._positions[place] = position

    def _id(self, place: int) -> str:
        if self._request.is_joint:
            return joint_cursor(self._positions)
        position = self._positions.get(place)
        return "" if position is None else str(position)

    def _ending(self) -> Closing | None:
        if self._hub.closing.is_set():
            return Closing(because="shutdown", resume=True)
        expires = self._request.expires
        if expires is not None and time.time() >= expires:
            return Closing(because="session expired", resume=False)
        if time.monotonic() >= self._until:
            return Closing(because="time limit", resume=True)
        return None

    async def _wait_for_news(self) -> bool:
        """Wait for news, or until it is time for a comment or for the end of the connection."""
        seconds = min(KEEP_ALIVE_SECONDS, max(0.0, self._until - time.monotonic()))
        if self._request.expires is not None:
            seconds = min(seconds, max(0.0, self._request.expires - time.time()))
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return False
        return True
