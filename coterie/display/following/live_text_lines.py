"""Print answers in progress: flowing text for pipes and logs, the last lines for a live display."""

from collections.abc import Callable, Iterator, Sequence

from coterie.dsl.visible import one_line, visible
from coterie.rendering.progress_lines import wrapped
from coterie.runs.live_texts import LiveAnswer, TextFollower, TextPiece

_MARGIN = "      | "
_MAX_LINES = 8
"""Lines of text in a live display, over all answers."""


class FlowingText:
    """Prints each character of the answers once, under the name of the call that writes it."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """Print nothing yet.

        Args:
            write: Prints a text without a line break.
        """
        self._write = write
        self._follower = TextFollower()
        self._call = ""
        """The call whose text stands on the open line."""

    def show(self, answers: Sequence[LiveAnswer]) -> None:
        """Print what is new; end the text of a call that has ended."""
        for piece in self._follower.pieces(answers):
            self._piece(piece)
        if self._call and self._call not in {answer.call for answer in answers}:
            self._write(" \N{HORIZONTAL ELLIPSIS}")  # its last words came after the last look
            self.end_line()

    def end_line(self) -> None:
        """Leave the open line to others."""
        if self._call:
            self._write("\n")
            self._call = ""

    def _piece(self, piece: TextPiece) -> None:
        if piece.begins or piece.answer.call != self._call:
            self.end_line()
            self._write(f"      {one_line(title(piece.answer))}\n{_MARGIN}")
            self._call = piece.answer.call
        if piece.missed:
            self._write(f"[... {piece.missed:,} characters ...]")
        self._write(visible(piece.text).replace("\n", f"\n{_MARGIN}"))


def title(answer: LiveAnswer) -> str:
    """Name the call that writes, and its attempt if it is not the first."""
    again = f" (attempt {answer.tail.attempt})" if answer.tail.attempt > 1 else ""
    return f"{answer.step} writes{again}:"


def last_lines(answers: Sequence[LiveAnswer], width: int) -> Iterator[str]:
    """Yield the last lines of each answer, under its title."""
    for answer in answers[:_MAX_LINES]:
        room = max(1, _MAX_LINES // len(answers))
        lines = wrapped(answer.tail.text, width, "    | ") if answer.tail.text.strip() else []
        yield from wrapped(title(answer), width, "  ")
        if answer.tail.start or len(lines) > room:
            lines = ["    | \N{HORIZONTAL ELLIPSIS}", *lines[-room:]]
        yield from lines
