"""The stream of one client of AG-UI: each event once, wherever it was cut off before.

It ends with RUN_FINISHED or RUN_ERROR. If it must end before, the connection is cut, because a
client takes an answer that ends in order for a whole one.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from ag_ui.core import (
    BaseEvent,
    RunFinishedEvent,
    RunStartedEvent,
)
from ag_ui.core.events import RunFinishedInterruptOutcome
from pydantic import JsonValue
from temporalio.service import RPCError

from coterie.failures import CommandError
from coterie.gateway.doors.agui.agui_events import sent_event
from coterie.gateway.doors.agui.agui_inputs import PROTOCOL, AguiInput
from coterie.gateway.doors.agui.agui_interrupts import interrupt_of
from coterie.gateway.doors.agui.agui_threads import ThreadRun
from coterie.gateway.doors.agui.history_feed import HistoryFeed, PlacedEvent
from coterie.gateway.doors.agui.live_pieces import live_events
from coterie.gateway.doors.agui.run_endings import ending_event, failed_event, final_context
from coterie.gateway.doors.agui.run_looks import RunLook, RunLooks
from coterie.gateway.doors.agui.run_messages import RunMessages
from coterie.gateway.doors.agui.run_translation import MessageAnswered, RunTranslation
from coterie.gateway.doors.agui.sent_messages import AguiMessage
from coterie.gateway.doors.agui.state_changes import state_change
from coterie.gateway.doors.agui.stream_positions import Position
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.followers import Follower
from coterie.gateway.streams.stream_hub import StreamHub
from coterie.runs.call_errors import call_error

KEEP_ALIVE_SECONDS = 15.0
MAX_SECONDS = 900.0
"""Of one connection; then its permission is judged again."""
_COMMENT = b": keep-alive\n\n"
_LAST_LOOK_SECONDS = 5.0
_SESSION_HISTORIES = 2
"""Histories of a session that are read: its latest message is in them."""


@dataclass(frozen=True, slots=True)
class AguiClient:
    """Who is at the other end, and what it asks for."""

    identity: Identity
    asked: AguiInput
    thread: ThreadRun
    position: Position | None
    """What it has; None for nothing."""


class AguiStream:
    """Translates one run for one client."""

    def __init__(self, hub: StreamHub, access: RunAccess, client: AguiClient) -> None:
        """Take what follows runs, the runs, and the client."""
        self._hub = hub
        self._client = client
        self._thread = client.thread
        self._wake = asyncio.Event()
        self._until = time.monotonic() + MAX_SECONDS
        self._feed = HistoryFeed(hub.pages, self._thread.run)
        self._messages = RunMessages(client.asked.messages)
        self._translation = RunTranslation(
            self._messages, self._thread.message_id, is_session=self._thread.is_session
        )
        self._looks = RunLooks(access, self._thread.run, client.identity, self._wake.set)
        self._sender = AguiMessage(access, client.identity, self._thread, self._wake.set)
        self._state: JsonValue = None
        """What the client has, if this process sent it."""
        self._position: Position | None = client.position
        self._failure: CommandError | None = None
        self._is_done = False
        """Whether the last event was sent, though the run continues."""

    async def messages(self) -> AsyncGenerator[bytes]:
        """Yield the events, in order; also a comment when there is nothing to say for long.

        Raises:
            CommandError: The run cannot be followed. No event came before.
            TimeoutError: The connection must end before the run has.
        """
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._looks.close)
            stack.push_async_callback(self._sender.close)
            follower = await stack.enter_async_context(
                self._hub.following(self._thread.run, self._wake)
            )
            await self._begin()
            async for one in self._opening():
                yield one
            if not self._translation.is_taken:
                self._sender.begin()
            async for one in self._until_end(follower):
                yield one

    async def _until_end(self, follower: Follower) -> AsyncGenerator[bytes]:
        while not self._has_ended():
            self._wake.clear()
            async for one in self._next(follower):
                yield one
            if self._is_done:
                return
            if self._has_ended():
                break
            self._check_end()
            self._looks.begin(self._feed.position, requests=not self._translation.work.calls)
            if not await self._wait_for_news():
                yield _COMMENT
        async for one in self._end():
            yield one

    async def _next(self, follower: Follower) -> AsyncGenerator[bytes]:
        """Yield what has come since the last time."""
        async for one in self._news(_newest(follower)):
            yield one
        if self._has_ended():
            return
        for one in self._live(follower):
            yield one
        look = self._looks.take()
        if look is not None:
            async for one in self._events_of_look(look):
                yield one
        if self._sender.failure is not None:  # the run may say why
            async for one in self._news(None):
                yield one
        failure = self._sender.failure or self._failure or follower.failure
        if failure is not None and not self._has_ended() and not self._is_done:
            self._is_done = True
            yield self._event_bytes(failed_event(failure))

    async def _events_of_look(self, look: RunLook) -> AsyncGenerator[bytes]:
        """Yield the state; if nothing continues before people act, what they must decide."""
        async for one in self._state_events(look.context):
            yield one
        if look.requests and not self._looks.is_due:
            async for one in self._news(None):  # what it has done before it answered
                yield one
        if self._waits_for_people(look):
            self._is_done = True
            yield self._interrupt(look)

    async def _begin(self) -> None:
        """Read what the client has: all up to its position, or up to now."""
        position = self._position
        until = None if position is None else position.cursor
        if position is None and self._thread.is_new and not self._thread.is_session:
            latest = await self._hub.pages.latest(self._thread.run)
            until = Cursor(latest.first, latest.first, 0)
        histories = _SESSION_HISTORIES if self._thread.is_session else 0
        try:
            async for placed in self._feed.past(until, histories):
                self._translation.events(placed, Position(placed.cursor))
                if self._translation.ending is not None:
                    break
        except RPCError as error:
            raise call_error(self._thread.run, error) from None
        self._translation.is_read = True
        at = self._feed.position
        assert at is not None
        self._position = position or Position(at, opening=0)

    async def _opening(self) -> AsyncGenerator[bytes]:
        """Yield what a client needs to begin with, as far as it lacks it."""
        position = self._position
        if position is None or position.opening is None:
            return
        asked = self._client.asked
        started = RunStartedEvent(
            thread_id=asked.thread, run_id=asked.run, protocol_version=PROTOCOL
        )
        events: list[BaseEvent] = [started]
        if not self._is_fresh(position):
            snapshot = await asyncio.to_thread(self._messages.snapshot)
            events += [snapshot, *self._translation.work.opened()]
        for number, event in enumerate(events, 1):
            if number > position.opening:
                opening = None if number == len(events) else number
                yield await self._large_event(event, replace(position, opening=opening))

    def _is_fresh(self, position: Position) -> bool:
        """Return whether the client lacks nothing of what came before."""
        if self._thread.is_session:
            return self._thread.message_id is not None and not self._translation.is_taken
        return position.cursor.event == 0

    async def _news(self, newest: Cursor | None) -> AsyncGenerator[bytes]:
        try:
            async for placed in self._feed.news(newest):
                self._looks.is_due = True
                for one in self._of_event(placed):
                    yield one
                if self._translation.ending is not None:
                    return
        except RPCError as error:
            self._failure = call_error(self._thread.run, error)

    def _of_event(self, placed: PlacedEvent) -> Iterator[bytes]:
        """Yield what an event of the run gives, as far as the client lacks it."""
        before = self._position
        assert before is not None
        events = self._translation.events(placed, before)
        after = self._translation.after(placed, before)
        has_ended = self._translation.ending is not None
        for number, event in enumerate(events, 1):
            if number > before.passed:
                is_last = number == len(events) and not has_ended
                yield self._event_bytes(event, after if is_last else replace(before, passed=number))
        if not has_ended:
            self._position = after

    def _live(self, follower: Follower) -> Iterator[bytes]:
        assert self._position is not None
        work = self._translation.work
        for event, position in live_events(work, self._messages, follower.answers, self._position):
            yield self._event_bytes(event, position)

    async def _state_events(self, context: JsonValue) -> AsyncGenerator[bytes]:
        """Yield the state, or how it has changed, unless the client has it."""
        position = self._position
        assert position is not None
        if context is None:
            return  # it has not begun
        changed = await asyncio.to_thread(state_change, self._state, position.state, context)
        if changed is not None:
            yield await self._large_event(changed.event, replace(position, state=changed.digest))
        self._state = context

    def _waits_for_people(self, look: RunLook) -> bool:
        """Return whether nothing continues before somebody decides."""
        return bool(
            look.requests
            and look.cursor == self._feed.position
            and not self._translation.work.calls
            and not self._has_ended()
        )

    def _interrupt(self, look: RunLook) -> bytes:
        asked = self._client.asked
        interrupts = [
            interrupt_of(waiting, self._translation.tool_of(waiting.request.id))
            for waiting in look.requests
        ]
        finished = RunFinishedEvent(
            thread_id=asked.thread,
            run_id=asked.run,
            outcome=RunFinishedInterruptOutcome(type="interrupt", interrupts=interrupts),
        )
        events = [*self._translation.work.suspend(), finished]
        return b"".join(self._event_bytes(event) for event in events)

    def _has_ended(self) -> bool:
        translation = self._translation
        if translation.ending is not None:
            return True
        if self._thread.message_id is None and translation.is_idle:
            translation.ending = MessageAnswered(None)  # it works on nothing
        return translation.ending is not None

    async def _end(self) -> AsyncGenerator[bytes]:
        ending = self._translation.ending
        assert ending is not None
        context = final_context(ending)
        if context is None:
            look = await self._looks.last(_LAST_LOOK_SECONDS)
            context = None if look is None else look.context
        if context is not None:
            async for one in self._state_events(context):
                yield one
        asked, position = self._client.asked, self._position
        assert position is not None
        last = ending_event(ending, asked.thread, asked.run)
        yield self._event_bytes(last, replace(position, passed=position.passed + 1))

    def _check_end(self) -> None:
        """Cut the connection where it must end.

        Raises:
            TimeoutError: It must.
        """
        expires = self._client.identity.expires
        is_over = time.monotonic() >= self._until
        if self._hub.closing.is_set() or is_over or (expires and time.time() >= expires):
            raise TimeoutError

    async def _wait_for_news(self) -> bool:
        seconds = min(KEEP_ALIVE_SECONDS, max(0.0, self._until - time.monotonic()))
        expires = self._client.identity.expires
        if expires is not None:
            seconds = min(seconds, max(0.0, expires - time.time()))
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return False
        return True

    async def _large_event(self, event: BaseEvent, position: Position) -> bytes:
        """Write an event that may have everything of a run; others are answered meanwhile."""
        self._position = position
        return await asyncio.to_thread(sent_event, event, str(position))

    def _event_bytes(self, event: BaseEvent, position: Position | None = None) -> bytes:
        self._position = position or self._position
        return sent_event(event, str(self._position))


def _newest(follower: Follower) -> Cursor | None:
    rows = follower.window.rows
    return rows[-1].cursor if rows else None
