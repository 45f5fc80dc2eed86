"""Read the events of a run with their values: up to a position, and what came after it."""

from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple

from temporalio.service import RPCError, RPCStatusCode

from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.history_pages import HistoryPages
from coterie.gateway.streams.lineage import LineagePart, parts_after
from coterie.gateway.streams.patience import Patience
from coterie.runs.histories.recorded_events import RecordedEvent, TaskEvent

_TRANSACTIONS = 20
"""Of one page that is read from the newest end."""


class PlacedEvent(NamedTuple):
    """An event, and the position after it."""

    cursor: Cursor
    event: RecordedEvent


class HistoryFeed:
    """The events of one run in the order of its stream, each once."""

    def __init__(self, pages: HistoryPages, run: str) -> None:
        """Take what reads histories, and the run."""
        self._pages = pages
        self._run = run
        self.position: Cursor | None = None
        """After the last event that was read."""

    async def past(self, until: Cursor | None, histories: int) -> AsyncGenerator[PlacedEvent]:
        """Yield the events up to a position, or all that there are.

        Args:
            until: The position; None for the end.
            histories: How many of the latest histories to read at most; 0 for all.

        Raises:
            RPCError: They cannot be read.
        """
        latest = await self._pages.latest(self._run)
        run_id = latest.run_id if until is None else until.run
        first = latest.first if until is None else until.first
        lineage = await self._pages.lineage(self._run, run_id)
        for place, part in enumerate(lineage[-histories:]):
            is_last = place == len(lineage[-histories:]) - 1
            self.position = Cursor(first, part.run, part.after)
            async for placed in self._part(first, part):
                if until is not None and is_last and placed.cursor.event > until.event:
                    break
                self.position = placed.cursor
                yield placed
        if until is not None:
            self.position = until

    async def news(self, newest: Cursor | None) -> AsyncGenerator[PlacedEvent]:
        """Yield what came after the position.

        Args:
            newest: The newest event that somebody has seen; None to ask the server.

        Raises:
            RPCError: It cannot be read, now and later.
        """
        patience = Patience()
        while True:
            try:
                for placed in await self._newer(newest):
                    self.position = placed.cursor
                    yield placed
                return
            except RPCError as error:
                await patience.wait(error)

    async def _newer(self, newest: Cursor | None) -> Sequence[PlacedEvent]:
        position = self.position
        assert position is not None
        if newest is not None and newest.run == position.run:
            return await self._end_of(position) if newest.event > position.event else ()
        latest = await self._pages.latest(self._run)
        if latest.run_id == position.run:
            return await self._end_of(position)
        lineage = await self._pages.lineage(self._run, latest.run_id, position.run)
        passed = await self._pages.lineage(self._run, position.run)
        found: list[PlacedEvent] = []
        for part in parts_after(position, lineage, passed):
            first = position.first if part.run == position.run else latest.first
            found += [placed async for placed in self._part(first, part)]
        return found

    async def _end_of(self, position: Cursor) -> Sequence[PlacedEvent]:
        """Return the events of a history after a position, read from its newest end."""
        events: list[RecordedEvent] = []
        pages = self._pages.backwards(self._run, position.run, _TRANSACTIONS, stored=True)
        async for page in pages:
            events[:0] = page.events
            if not page.events or page.events[0].id <= position.event:
                break
        return [
            PlacedEvent(position._replace(event=event.id), event)
            for event in events
            if event.id > position.event and not isinstance(event, TaskEvent)
        ]

    async def _part(self, first: str, part: LineagePart) -> AsyncGenerator[PlacedEvent]:
        try:
            async for page in self._pages.forwards(self._run, part.run, stored=True):
                for event in page.events:
                    if event.id > part.after and not isinstance(event, TaskEvent):
                        yield PlacedEvent(Cursor(first, part.run, event.id), event)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise  # else the server has deleted it
