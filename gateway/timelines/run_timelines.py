"""The calls of whole runs as bars: each history is read once, and then only what is new in it."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic

from temporalio.service import RPCError, RPCStatusCode

from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.event_rows import RowReader
from coterie.gateway.streams.history_pages import HistoryPage, HistoryPages
from coterie.gateway.streams.lineage import LineagePart, parts_after
from coterie.gateway.streams.run_events import ClosedEvent
from coterie.gateway.timelines.bars import Bar
from coterie.gateway.timelines.call_bars import CallFold
from coterie.runs.call_errors import call_error

_MAX_KEPT = 24
"""Runs whose bars are kept, beside those that somebody looks at now."""
_MAX_READING = 8
"""Runs that are read for the first time at once; others wait for their turn."""
_LOOKED_SECONDS = 30.0
"""How long after a request somebody still looks at a run."""
_FRESH_SECONDS = 2.0
"""How long what was read counts as the latest."""


@dataclass(frozen=True, slots=True)
class ReadTimeline:
    """The bars of a run, as far as its histories are read."""

    bars: Sequence[Bar]
    """In the order of their starts; empty while earlier events are still being read."""
    began: datetime
    ended: datetime
    """Of an open run: now."""
    read: int
    """Events read so far."""
    events: int
    """Of all its histories."""
    is_whole: bool
    left_out: int = 0
    """The oldest bars, of a run with very many."""


class RunTimelines:
    """Reads the runs that somebody looks at, each once for all who look."""

    def __init__(self, pages: HistoryPages) -> None:
        """Take what reads histories."""
        self._pages = pages
        self._kept: OrderedDict[str, _RunReading] = OrderedDict()
        self._turns = asyncio.Semaphore(_MAX_READING)

    async def timeline(self, run: str, seconds: float) -> ReadTimeline:
        """Return the bars of a run; wait a time for what is not read yet, and read on after it.

        Raises:
            CommandError: The run does not exist, or the server does not answer.
        """
        reading = self._kept.get(run)
        if reading is None:
            self._make_room()
            reading = self._kept[run] = _RunReading(run, self._pages, self._turns)
        self._kept.move_to_end(run)
        try:
            return await reading.timeline(seconds)
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND and self._kept.get(run) is reading:
                del self._kept[run]  # the server has deleted what it was about to read
            raise call_error(run, error) from None

    def _make_room(self) -> None:
        """Drop the runs at which nobody has looked for the longest time, but no reading."""
        idle = [run for run, reading in self._kept.items() if reading.is_idle]
        for run in idle[: max(0, len(self._kept) - _MAX_KEPT + 1)]:
            del self._kept[run]

    async def close(self) -> None:
        """Stop to read."""
        tasks = [task for reading in self._kept.values() if (task := reading.stop()) is not None]
        await asyncio.gather(*tasks, return_exceptions=True)


class _RunReading:
    """How far one run is read."""

    def __init__(self, run: str, pages: HistoryPages, turns: asyncio.Semaphore) -> None:
        self._run = run
        self._pages = pages
        self._turns = turns
        self._looked = monotonic()
        self._fold = CallFold()
        self._bars: Sequence[Bar] = ()
        self._position: Cursor | None = None
        self._began = self._last = datetime.now(UTC)
        self._read = 0
        self._events = 0
        self._is_over = False
        self._is_whole = False
        self._fresh_until = 0.0
        self._task: asyncio.Task[None] | None = None

    async def timeline(self, seconds: float) -> ReadTimeline:
        """Return the bars after a time; raises RPCError."""
        self._looked = monotonic()
        if self._task is None and monotonic() >= self._fresh_until:
            self._task = asyncio.create_task(self._read_on() if self._is_whole else self._begin())
        if self._task is not None:
            task = self._task
            await asyncio.wait((task,), timeout=seconds)
            if task.done() and task is self._task:
                self._task = None
            if task.done() and not task.cancelled():
                task.result()
        return ReadTimeline(
            self._bars,
            self._began,
            self._last if self._is_over else datetime.now(UTC),
            self._read,
            max(self._events, self._read),
            self._is_whole,
            self._fold.left_out,
        )

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being read, and nobody looks."""
        return (self._task is None or self._task.done()) and not self._is_looked_at()

    def _is_looked_at(self) -> bool:
        return monotonic() - self._looked < _LOOKED_SECONDS

    def stop(self) -> "asyncio.Task[None] | None":
        """Stop to read; return what ends."""
        if self._task is not None:
            self._task.cancel()
        return self._task

    async def _begin(self) -> None:
        """Read for the first time when it is its turn, if somebody still looks then."""
        async with self._turns:
            if self._is_looked_at():
                await self._read_on()

    async def _read_on(self) -> None:
        latest = await self._pages.latest(self._run)
        parts = await self._next_parts(latest.run_id)
        if not self._is_whole:
            described = [await self._pages.history(self._run, part.run) for part in parts]
            self._events = self._read + sum(one.events for one in described)
        for part in parts:
            await self._read_part(latest.first, part)
        self._bars = await asyncio.to_thread(lambda: self._fold.bars)
        self._is_whole = True
        self._fresh_until = monotonic() + _FRESH_SECONDS

    async def _next_parts(self, latest: str) -> Sequence[LineagePart]:
        position = self._position
        if position is None:
            return await self._pages.lineage(self._run, latest)
        lineage = await self._pages.lineage(self._run, latest, position.run)
        return parts_after(position, lineage, await self._pages.lineage(self._run, position.run))

    async def _read_part(self, first: str, part: LineagePart) -> None:
        reader, seen = RowReader(self._run, first, part.run), part.after
        async for page in self._pages.forwards(self._run, part.run):
            await asyncio.to_thread(self._take, reader, page, part.after)
            self._read += sum(event.id > seen for event in page.events)

    def _take(self, reader: RowReader, page: HistoryPage, after: int) -> None:
        """Fold a page, in a thread: nobody else waits for it."""
        found = reader.typed_events(page.events, after)
        if not found:
            return
        if self._position is None:
            self._began = datetime.fromisoformat(found[0][1].at)
        self._fold.take(event for _, event in found)
        self._position, last = found[-1]
        self._last = datetime.fromisoformat(last.at)
        self._is_over = isinstance(last, ClosedEvent)
