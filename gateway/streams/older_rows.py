"""Read rows from the newest end of a run towards its start."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.event_rows import RowReader, StreamRow
from coterie.gateway.streams.history_pages import HistoryPages
from coterie.runs.histories.recorded_events import (
    CallEnded,
    CallLeft,
    CallScheduled,
    CallStarted,
    RecordedEvent,
    RunStarted,
    TaskEvent,
    TaskFailure,
)

_MAX_LOOK_BACK = 2
"""Pages that are read only to name the calls of later ones."""
_MORE_TRANSACTIONS = 50
_MAX_TRANSACTIONS = 250
"""Of one page: the server notes a larger one, with "page size is larger than threshold"."""


@dataclass(frozen=True, slots=True)
class OlderRows:
    """Some rows in the order of their events."""

    rows: tuple[StreamRow, ...]
    is_whole: bool
    """Whether there are none before them."""


MAX_EVENT = 2**53
"""Above all ids of events."""


@dataclass(frozen=True, slots=True)
class _End:
    """The end of one history."""

    rows: Sequence[StreamRow]
    is_whole: bool
    """Whether these are all rows of its part of the run."""
    before: str = ""
    """The run id of the history that it continues."""
    reset: TaskFailure | None = None
    """The event where it begins to differ from the history that it was reset from."""


async def rows_before(
    pages: HistoryPages, run: str, position: Cursor, count: int, *, inclusive: bool = False
) -> OlderRows:
    """Return the rows before an event, over the histories that lead to it; raises RPCError.

    Args:
        pages: Reads histories.
        run: The id of the run.
        position: Of the event.
        count: How many at most.
        inclusive: Whether the event itself belongs to them.
    """
    rows: list[StreamRow] = []
    run_id, below, ignores_reset = position.run, position.event + inclusive, False
    while True:
        reader = RowReader(run, position.first, run_id)
        more = count - len(rows)
        end = await _end_of(pages, reader, run_id, below, more, ignores_reset=ignores_reset)
        rows = [*end.rows, *rows]
        if not end.is_whole:
            return OlderRows(tuple(rows), is_whole=False)
        parent = end.before if end.reset is None else end.reset.base
        is_known = bool(parent) and await pages.ancestry(run, parent) is not None
        if is_known:
            run_id, below, ignores_reset = parent, MAX_EVENT, False
        elif end.reset is not None:  # the server has deleted its base: it has the events itself
            below, ignores_reset = end.reset.id, True
        else:
            return OlderRows(tuple(rows), is_whole=True)
        if len(rows) >= count:
            return OlderRows(tuple(rows), is_whole=False)


async def _end_of(
    pages: HistoryPages,
    reader: RowReader,
    run_id: str,
    below: int,
    count: int,
    *,
    ignores_reset: bool,
) -> _End:
    """Return the last rows of one history below an event."""
    events: list[RecordedEvent] = []
    looked_back = 0
    start: RunStarted | None = None
    reset: TaskFailure | None = None
    size = min(count + _MORE_TRANSACTIONS, _MAX_TRANSACTIONS)
    async for page in pages.backwards(reader.run, run_id, size):
        start = next((event for event in page.events if isinstance(event, RunStarted)), None)
        events[:0] = [event for event in page.events if event.id < below]
        if not ignores_reset:
            reset = reset or _reset_in(page.events, run_id, below)
        floor = 0 if reset is None else reset.id
        wanted = [event for event in events if event.id >= floor and _is_row(event)][-count:]
        if len(wanted) < count and reset is None:
            continue
        if looked_back == _MAX_LOOK_BACK or not _has_unnamed(wanted, events):
            break
        looked_back += 1
    rows = reader.rows(events, 0 if reset is None else reset.id - 1)
    return _End(
        rows[-count:],
        is_whole=(start is not None or reset is not None) and len(rows) <= count,
        before="" if start is None else start.previous,
        reset=reset,
    )


def _is_row(event: RecordedEvent) -> bool:
    return not isinstance(event, TaskEvent)


def _reset_in(events: Iterable[RecordedEvent], run_id: str, below: int) -> TaskFailure | None:
    """Return the event with which a history begins to differ from its base."""
    for event in events:
        if isinstance(event, TaskFailure) and event.reset == run_id and event.id <= below:
            return event
    return None


def _has_unnamed(wanted: Iterable[RecordedEvent], events: Iterable[RecordedEvent]) -> bool:
    """Return whether calls of some events were scheduled before all that were read."""
    scheduled = {event.id for event in events if isinstance(event, CallScheduled)}
    return any(
        event.scheduled not in scheduled
        for event in wanted
        if isinstance(event, CallStarted | CallLeft | CallEnded)
    )
