"""What one viewer of one run gets next, and where it stands."""

from collections.abc import AsyncGenerator, Callable, Iterator

from temporalio.service import RPCError, RPCStatusCode

from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.event_rows import RowReader, StreamRow
from coterie.gateway.streams.followers import OPENING_ROWS, Follower
from coterie.gateway.streams.history_pages import HistoryPages
from coterie.gateway.streams.lineage import LineagePart, parts_after
from coterie.gateway.streams.live_calls import ActiveCalls, StreamedText, live_text
from coterie.gateway.streams.patience import Patience
from coterie.runs.live_texts import TextFollower


class Viewer:
    """One viewer of one run: each event once and in order, the newest state of the rest."""

    def __init__(
        self, follower: Follower, pages: HistoryPages, after: Cursor | None, *, whole: bool = False
    ) -> None:
        """Take where it stands.

        Args:
            follower: Of the run.
            pages: Reads what the follower no longer has.
            after: What the viewer has already; None for nothing.
            whole: Whether it wants all events, and not only the newest ones.
        """
        self.follower = follower
        self.position = after
        self._pages = pages
        self._wants_start = whole and after is None
        self._texts = TextFollower()
        self._seen_version = -1

    async def begin(self) -> None:
        """Find the position before the first event that the viewer gets; raises RPCError."""
        if self._wants_start:
            latest = await self._pages.latest(self.follower.run)
            lineage = await self._pages.lineage(self.follower.run, latest.run_id)
            if lineage:
                self.position = Cursor(latest.first, lineage[0].run, 0)
        elif self.position is None:
            rows = self.follower.window.rows[-OPENING_ROWS:]
            if rows:
                first = rows[0].cursor
                self.position = first._replace(event=first.event - 1)

    @property
    def is_behind(self) -> bool:
        """Whether it lacks rows that only the history has."""
        return self._number() is None

    def _number(self) -> int | None:
        window = self.follower.window
        if self.position is None:
            return window.start
        if window.rows and _is_right_before(self.position, window.rows[0].cursor):
            return window.start
        return window.number_after(self.position)

    def new_rows(self) -> Iterator[StreamRow]:
        """Yield the rows of the window that it lacks."""
        number = self._number()
        while number is not None and number < self.follower.window.end:
            row = self.follower.window.row(number)
            number += 1
            if not self._has(row):
                self.position = row.cursor
                yield row
            if number < self.follower.window.start:  # it was slower than the run
                return

    def _has(self, row: StreamRow) -> bool:
        position = self.position
        return (
            position is not None
            and row.cursor.run == position.run
            and row.cursor.event <= position.event
        )

    async def missed_rows(self, must_end: Callable[[], bool]) -> AsyncGenerator[StreamRow]:
        """Yield rows from the history, until the window has the next one.

        Args:
            must_end: Whether the connection ends, so that nothing is read any more.

        Raises:
            RPCError: The history cannot be read, now and later.
        """
        patience = Patience()
        while self.position is not None and self.is_behind and not must_end():
            try:
                async for row in self._read(self.position):
                    yield row
                    if must_end():
                        return
                return
            except RPCError as error:
                await patience.wait(error)

    async def _read(self, position: Cursor) -> AsyncGenerator[StreamRow]:
        run = self.follower.run
        latest = await self._pages.latest(run)
        lineage = await self._pages.lineage(run, latest.run_id, position.run)
        passed = await self._pages.lineage(run, position.run)
        for part in parts_after(position, lineage, passed):
            first = position.first if part.run == position.run else latest.first
            try:
                async for row in self._read_part(first, part):
                    yield row
            except RPCError as error:
                if error.status != RPCStatusCode.NOT_FOUND or part.run != position.run:
                    raise  # else the server has deleted the history of the cursor
            if not self.is_behind:
                return

    async def _read_part(self, first: str, part: LineagePart) -> AsyncGenerator[StreamRow]:
        run = self.follower.run
        reader, after = RowReader(run, first, part.run), part.after
        async for page in self._pages.forwards(run, part.run):
            for row in reader.rows(page.events, after):
                after = row.cursor.event
                self.position = row.cursor
                yield row
            if not self.is_behind:
                return

    def news(self) -> Iterator[ActiveCalls | StreamedText]:
        """Yield the calls in progress and the texts, if they have changed."""
        follower = self.follower
        if follower.live_version == self._seen_version:
            return
        self._seen_version = follower.live_version
        yield follower.calls
        answers = [answer for answer in follower.answers if answer.call in follower.names]
        for piece in self._texts.pieces(answers):
            yield live_text(follower.run, piece)


def _is_right_before(position: Cursor, first: Cursor) -> bool:
    return position.run == first.run and position.event == first.event - 1
