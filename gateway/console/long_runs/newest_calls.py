"""The calls at the newest end of a run, or before a point of it, as rows of a waterfall."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from temporalio.service import RPCError

from coterie.gateway.console.page_templates import ROWS
from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.event_rows import StreamRow
from coterie.gateway.streams.history_pages import HistoryPages
from coterie.gateway.streams.older_rows import MAX_EVENT, rows_before
from coterie.gateway.streams.run_events import read_run_event
from coterie.gateway.timelines.bars import Timeline, draw_bars
from coterie.gateway.timelines.call_bars import CallFold
from coterie.runs.call_errors import call_error

_EVENTS_OF_CALL = 3
"""It is scheduled, it starts, it ends."""


@dataclass(frozen=True, slots=True)
class NewestCalls:
    """Some calls, on the scale of their own time."""

    timeline: Timeline
    """In the order of their starts."""
    before: str
    """The cursor before which there are older ones; empty: there are none."""


async def calls_before(pages: HistoryPages, run: str, before: str, now: datetime) -> NewestCalls:
    """Return the calls before a position.

    Args:
        pages: Reads histories.
        run: The id of the run.
        before: A cursor; empty for the newest end.
        now: Where calls in progress are drawn to.

    Raises:
        CommandError: The position is none, or the server does not answer.
    """
    try:
        if before:
            position = Cursor.parse(before)
        else:
            latest = await pages.latest(run)
            position = Cursor(latest.first, latest.run_id, MAX_EVENT)
        older = await rows_before(pages, run, position, ROWS * _EVENTS_OF_CALL)
    except RPCError as error:
        raise call_error(run, error) from None
    rest = "" if older.is_whole else str(older.rows[0].cursor)
    return NewestCalls(await asyncio.to_thread(_draw, older.rows, before, now), rest)


def _draw(rows: Sequence[StreamRow], before: str, now: datetime) -> Timeline:
    fold = CallFold()
    fold.take(read_run_event(row.data) for row in rows)
    bars = sorted(fold.ended, key=lambda bar: bar.began) if before else fold.bars
    began = min((bar.began for bar in bars), default=now)
    ended = max((bar.ended or now for bar in bars), default=now)
    return draw_bars(began, ended, bars)
