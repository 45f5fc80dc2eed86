"""Follow one run for all its viewers: its events, over all its histories, and its calls."""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic

from temporalio.service import RPCError, RPCStatusCode

from coterie.failures import CommandError
from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.event_rows import CallName, RowReader, StreamRow
from coterie.gateway.streams.history_pages import HistoryPages, PageRequest
from coterie.gateway.streams.lineage import LineagePart, parts_after
from coterie.gateway.streams.live_calls import ActiveCalls, calls_of, has_turn
from coterie.gateway.streams.older_rows import MAX_EVENT, rows_before
from coterie.gateway.streams.patience import Patience
from coterie.gateway.streams.poll_turns import PollTurns
from coterie.gateway.streams.windows import Window
from coterie.runs.call_errors import call_error
from coterie.runs.histories.recorded_events import ContinuedAsNew, RecordedEvent, RunClosed
from coterie.runs.live_texts import LiveAnswer, streams

OPENING_ROWS = 200
"""Rows from the newest end with which a follower opens."""
_AFTER_END_SECONDS = 10.0
"""Between two questions whether a run that has ended was reset, or started anew."""
_TEXT_SECONDS = 0.2
_TURN_SECONDS = 0.4
_CALL_SECONDS = 5.0
_log = logging.getLogger(__name__)


class Follower:
    """Follows one run from its newest events on."""

    def __init__(self, run: str, pages: HistoryPages, turns: PollTurns) -> None:
        self.run = run
        self.window = Window()
        self.first_row_is_oldest = False
        """Whether the window began with the first event of the run."""
        self.calls = ActiveCalls(run=run)
        self.answers: tuple[LiveAnswer, ...] = ()
        self.live_version = 0
        """Counts changes of the calls and the answers."""
        self.listeners: set[asyncio.Event] = set()
        """Set when there is something new, one for each viewer."""
        self.failure: CommandError | None = None
        """Why it cannot continue; None while it does."""
        self._pages = pages
        self._turns = turns
        self._names: Mapping[str, CallName] = {}
        self._called = asyncio.Event()
        """Set when the calls in progress have changed, or somebody looks again."""
        self._opened = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def names(self) -> Mapping[str, CallName]:
        """The calls in progress, by their ids."""
        return self._names

    def start(self) -> None:
        """Begin to follow."""
        self._turns.followers += 1
        self._tasks = [
            asyncio.create_task(self._follow_or_fail()),
            asyncio.create_task(self._watch_calls()),
        ]

    async def stop(self) -> None:
        """Stop to follow."""
        self._turns.followers -= 1
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def opened(self) -> None:
        """Wait for the newest rows.

        Raises:
            CommandError: There is no such run, or the server refuses.
        """
        await self._opened.wait()
        if self.failure is not None:
            raise self.failure

    def add_listener(self, listener: asyncio.Event) -> None:
        """Set an event when there is something new; the first one also begins to look at calls."""
        if not self.listeners:
            self._called.set()
        self.listeners.add(listener)

    def _notify(self) -> None:
        for listener in self.listeners:
            listener.set()

    def _fail(self, error: CommandError) -> None:
        self.failure = error
        self._opened.set()
        self._notify()

    async def _follow_or_fail(self) -> None:
        try:
            await self._follow()
        except RPCError as error:
            self._fail(call_error(self.run, error))
        except CommandError as error:
            self._fail(error)
        except Exception:
            _log.exception("the follower of a run failed")
            self._fail(CommandError("the gateway failed to read the run; its log says why"))

    async def _follow(self) -> None:
        position = await self._open()
        waiting: deque[LineagePart] = deque([LineagePart(position.run, position.event)])
        first = position.first
        while True:
            part = waiting.popleft()
            reading = _Reading(self.run, first, part)
            last = await self._read(reading)
            self._take([], {})
            if isinstance(last, ContinuedAsNew | RunClosed) and last.next:
                waiting.appendleft(LineagePart(last.next))
            elif not waiting:
                first, parts = await self._next_parts(reading.position)
                waiting.extend(parts)

    async def _open(self) -> Cursor:
        """Read the newest rows; return the position after them."""
        patience = Patience()
        while True:
            try:
                latest = await self._pages.latest(self.run)
                position = Cursor(latest.first, latest.run_id, MAX_EVENT)
                older = await rows_before(self._pages, self.run, position, OPENING_ROWS)
                break
            except RPCError as error:
                await patience.wait(error)
        self.window.add(older.rows)
        self.first_row_is_oldest = older.is_whole
        self._opened.set()
        self._notify()
        newest = older.rows[-1].cursor if older.rows else None
        if newest is None or newest.run != latest.run_id:
            return await self._start_of(latest.first, latest.run_id)
        return newest

    async def _start_of(self, first: str, run_id: str) -> Cursor:
        """Return the position before the first row of a history that has none yet."""
        lineage = await self._pages.lineage(self.run, run_id, run_id)
        return Cursor(first, run_id, lineage[-1].after if lineage else 0)

    async def _read(self, reading: "_Reading") -> RecordedEvent | None:
        """Read a history to its end; return its last event."""
        patience = Patience()
        token = b""
        last: RecordedEvent | None = None
        while True:
            began = monotonic()
            try:
                async with self._turns.turn() as seconds:
                    page = await self._pages.page(
                        PageRequest(self.run, reading.part.run, token, waits=True, seconds=seconds)
                    )
            except RPCError as error:
                if error.status == RPCStatusCode.INVALID_ARGUMENT and token:
                    token = b""  # of another server: the reader passes over what it has read
                    reading.restart()
                await patience.wait(error)
                continue
            patience = Patience()
            self._take(reading.rows(page.events), reading.reader.calls)
            last = page.events[-1] if page.events else last
            if not page.token:
                return last
            token = page.token
            if seconds is not None and not page.events:  # a server may answer a short poll at once
                await asyncio.sleep(max(0.0, began + seconds - monotonic()))

    def _take(self, rows: list[StreamRow], names: Mapping[str, CallName]) -> None:
        if names != self._names:
            self._names = names
            self._called.set()
        if rows:
            self.window.add(rows)
            self._notify()

    async def _next_parts(self, position: Cursor) -> tuple[str, tuple[LineagePart, ...]]:
        """Wait until a run that has ended continues in another history: by a reset, or a new start.

        Returns:
            The run id of the first history of its chain, and the histories to read.
        """
        patience = Patience()
        while True:
            try:
                latest = await self._pages.latest(self.run)
                if latest.run_id != position.run:
                    lineage = await self._pages.lineage(self.run, latest.run_id, position.run)
                    passed = await self._pages.lineage(self.run, position.run)
                    parts = parts_after(position, lineage, passed)
                    return latest.first, parts[1:]
            except RPCError as error:
                await patience.wait(error)
                continue
            await asyncio.sleep(_AFTER_END_SECONDS)

    async def _watch_calls(self) -> None:
        """Keep the calls in progress and their texts up to date while somebody looks."""
        while True:
            pause = _CALL_SECONDS
            if self._names and self.listeners:
                pause = await self._look_at_calls()
            elif self.calls.calls:
                self._take_calls(ActiveCalls(run=self.run), ())
            elif not self._names:
                await self._called.wait()
            self._called.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._called.wait()

    async def _look_at_calls(self) -> float:
        """Look at the calls once; return the time to the next look."""
        names = self._names
        try:
            described = await self._pages.describe(self.run)
            calls, answers = await calls_of(self.run, described, names)
        except (CommandError, RuntimeError):
            return _CALL_SECONDS
        self._take_calls(calls, answers)
        if streams(described):
            return _TEXT_SECONDS
        return _TURN_SECONDS if has_turn(names.values()) else _CALL_SECONDS

    def _take_calls(self, calls: ActiveCalls, answers: tuple[LiveAnswer, ...]) -> None:
        if (calls, answers) != (self.calls, self.answers):
            self.calls, self.answers = calls, answers
            self.live_version += 1
            self._notify()


class _Reading:
    """How far a history was read."""

    def __init__(self, run: str, first: str, part: LineagePart) -> None:
        self.part = part
        self.position = Cursor(first, part.run, part.after)
        self._run = run
        self.reader = RowReader(run, first, part.run)

    def rows(self, page: tuple[RecordedEvent, ...]) -> list[StreamRow]:
        """Return the rows of a page that are new."""
        rows = self.reader.rows(page, self.position.event)
        if rows:
            self.position = rows[-1].cursor
        return rows

    def restart(self) -> None:
        """Read again from the first event."""
        self.reader = RowReader(self._run, self.position.first, self.part.run)
