"""A pane of the screen: lines of text, drawn as they are.

No markup is interpreted, and control characters are visible: the lines have text of models, tools
and people. Only the visible lines are drawn, so a long list costs no more than a short one.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import ClassVar

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from coterie.dsl.visible import one_line
from coterie.rendering.progress_lines import ProgressLine

_TAB = " " * 4


class LinePane(ScrollView, can_focus=True):
    """Lines that scroll."""

    def __init__(self, title: str, id: str, *, folds: bool = True) -> None:
        """Prepare the pane.

        Args:
            title: Ours, for its upper edge.
            id: For the style sheet.
            folds: Continue a long line in the next one, instead of cutting it off.
        """
        super().__init__(id=id)
        self.border_title = title
        self._folds = folds
        self._lines: list[ProgressLine] = []

    @property
    def room(self) -> int:
        """Width of a line, in cells."""
        return max(self.scrollable_content_region.width, 1)

    @property
    def texts(self) -> list[str]:
        """The lines as drawn."""
        return [line.text for line in self._lines]

    def show(self, lines: Sequence[ProgressLine]) -> None:
        """Replace the lines."""
        all_lines = list(lines)
        rows = list(_fold_lines(all_lines, self.room)) if self._folds else all_lines
        if rows == self._lines:
            return
        height = len(self._lines)
        self._lines = rows
        self.virtual_size = Size(self.room, len(rows))
        self.refresh(layout=height != len(rows))

    def render_line(self, y: int) -> Strip:
        """Draw one line of the pane."""
        at = y + self.scroll_offset.y
        width = self.room
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        line = self._lines[at]
        style = self.rich_style + _style(line.style) + self.mark(at)
        return Strip([Segment(_safe(line.text), style)]).adjust_cell_length(width, style)

    def mark(self, at: int) -> Style:
        """Return what is added to the style of a line."""
        return Style.null()


class TreePane(LinePane):
    """Lines with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
    ]

    def __init__(self, title: str, id: str) -> None:
        super().__init__(title, id, folds=False)
        self.cursor = 0
        """The line that the person chose."""
        self.follows = True
        """Whether the cursor stays with the latest work, because the person has not moved it."""

    def action_move(self, lines: int) -> None:
        """Move the cursor."""
        self.follows = False
        self.put_cursor(self.cursor + lines)

    def put_cursor(self, at: int) -> None:
        """Put the cursor on a line, or on the nearest one, and make it visible."""
        before, self.cursor = self.cursor, min(max(at, 0), max(len(self._lines) - 1, 0))
        height = self.scrollable_content_region.height
        if height and not self.scroll_offset.y <= self.cursor < self.scroll_offset.y + height:
            self.scroll_to(y=max(self.cursor - height // 2, 0), animate=False)
        if self.cursor != before:
            self.refresh()

    def mark(self, at: int) -> Style:
        """Return the style of the cursor."""
        return Style(reverse=True) if at == self.cursor and self.has_focus else Style.null()


def _fold_lines(lines: Sequence[ProgressLine], width: int) -> Iterator[ProgressLine]:
    for line in lines:
        text = _safe(line.text)
        if cell_len(text) <= width:
            yield ProgressLine(text, line.style)
        else:
            yield from (ProgressLine(part, line.style) for part in chop_cells(text, width))


def _safe(text: str) -> str:
    return one_line(text).replace("\t", _TAB)


@lru_cache(maxsize=64)
def _style(style: str) -> Style:
    return Style.parse(style) if style else Style.null()
