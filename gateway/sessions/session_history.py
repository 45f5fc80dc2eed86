"""Read the events of a session from its newest end, over the histories that it continued in."""

from dataclasses import dataclass

from temporalio.service import RPCError, RPCStatusCode

from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.history_pages import HistoryPages
from coterie.gateway.streams.older_rows import MAX_EVENT
from coterie.runs.histories.recorded_events import RecordedEvent, RunStarted, UpdateAccepted
from coterie.workflows.core.messages import SEND_MESSAGE
from coterie.workflows.sessions.message_queue import MAX_OPEN_MESSAGES

_TRANSACTIONS = 100
"""Of one page of a history."""
_MAX_EVENTS = 3_000
"""That one page of a chat is made of, if they hold few messages."""


@dataclass(frozen=True, slots=True)
class SessionPart:
    """The newest events of one history."""

    run_id: str
    events: tuple[RecordedEvent, ...]


@dataclass(frozen=True, slots=True)
class SessionHistory:
    """The newest events of a session, oldest first."""

    parts: tuple[SessionPart, ...]
    before: Cursor
    """Only messages before this event are asked for; later events have their replies."""
    is_whole: bool
    """Whether there are none before them."""


async def read_session(
    pages: HistoryPages, run: str, before: Cursor | None, count: int
) -> SessionHistory:
    """Read events back to some messages before an event, or before the end; raises RPCError.

    It reads a few messages more than asked for: a run may have worked on those while it took later
    ones. A reset repeats what came before it, so it needs no base.
    """
    if before is None:
        latest = await pages.latest(run)
        before = Cursor(latest.first, latest.run_id, MAX_EVENT)
    parts: list[SessionPart] = []
    run_id, found, read = before.run, 0, 0
    while run_id:
        below = before.event if run_id == before.run else MAX_EVENT
        events: list[RecordedEvent] = []
        start: RunStarted | None = None
        try:
            async for page in pages.backwards(run, run_id, _TRANSACTIONS, stored=True):
                events[:0] = page.events
                read += len(page.events)
                found += sum(is_message(event) and event.id < below for event in page.events)
                start = next((it for it in page.events if isinstance(it, RunStarted)), None)
                if start is not None or found >= count + MAX_OPEN_MESSAGES or read >= _MAX_EVENTS:
                    break
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND or not parts:
                raise
            break  # the server has deleted it
        parts.insert(0, SessionPart(run_id, tuple(events)))
        run_id = "" if start is None else start.previous
        if start is None or (run_id and (found >= count + MAX_OPEN_MESSAGES or read > _MAX_EVENTS)):
            return SessionHistory(tuple(parts), before, is_whole=False)
    return SessionHistory(tuple(parts), before, is_whole=True)


def is_message(event: RecordedEvent) -> bool:
    """Return whether a person or a program sent a message with this event."""
    return isinstance(event, UpdateAccepted) and event.name == SEND_MESSAGE
