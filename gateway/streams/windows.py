"""The latest rows of a run, from which all its viewers read."""

from collections import deque
from collections.abc import Iterable

from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.event_rows import StreamRow

MAX_ROWS = 1_000
"""Of a window; a viewer that needs older ones reads them from the history."""


class Window:
    """The latest rows, without a gap, each with a number that counts on."""

    def __init__(self, maximum: int = MAX_ROWS) -> None:
        self._rows: deque[StreamRow] = deque(maxlen=maximum)
        self.end = 0
        """The number of the next row."""

    @property
    def start(self) -> int:
        """The number of the first row."""
        return self.end - len(self._rows)

    @property
    def rows(self) -> tuple[StreamRow, ...]:
        """All rows."""
        return tuple(self._rows)

    def add(self, rows: Iterable[StreamRow]) -> None:
        """Add rows at the end; the oldest ones make room."""
        for row in rows:
            self._rows.append(row)
            self.end += 1

    def row(self, number: int) -> StreamRow:
        """Return a row; raises IndexError."""
        if number < self.start:
            raise IndexError(number)
        return self._rows[number - self.start]

    def number_after(self, position: Cursor) -> int | None:
        """Return the number of the row after a position; None if the window may lack some.

        A position without a row of its own, such as that of a workflow task, lies between two rows
        of its history.
        """
        for number in range(self.end - 1, self.start - 1, -1):
            row = self.row(number)
            if row.cursor.run == position.run and row.cursor.event <= position.event:
                return number + 1
        return None
