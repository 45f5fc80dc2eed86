"""Format the progress of a run: marks, names, and time, tokens and money in columns."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells, set_cell_size

from coterie.dsl.model.budgets import column_money
from coterie.dsl.visible import one_line
from coterie.runs.progress import Progress, RowState, TaskRow, Tone, VisitRow
from coterie.text.durations import duration

MARKS: dict[RowState, str] = {
    "running": "•",
    "success": "✓",
    "partial": "◐",
    "failure": "✗",
    "skipped": "-",
}
STYLES: dict[RowState, str] = {
    "running": "cyan",
    "success": "green",
    "partial": "yellow",
    "failure": "red",
    "skipped": "dim",
}
TONES: dict[Tone, str] = {
    "working": "cyan",
    "waiting": "yellow",
    "good": "green",
    "bad": "red",
}
_TIME, _TOKENS, _MONEY = 12, 10, 9
_MIN_NAME_WIDTH = 16
_MAX_NAME_WIDTH = 64


@dataclass(frozen=True, slots=True)
class ProgressLine:
    """One line and its style."""

    text: str
    style: str = ""


def progress_lines(progress: Progress, width: int, height: int) -> list[ProgressLine]:
    """Format the rows in at most `height` lines.

    Older visits lose their tasks first, then their own line.

    Args:
        progress: Progress of the run.
        width: Terminal width, in cells.
        height: Available lines, at least one.
    """
    visits = list(progress.visits.values())
    whole = [list(_visit_lines(visit, width)) for visit in visits]
    for index in range(len(whole) - 1):
        if sum(map(len, whole)) <= height:
            break
        whole[index] = whole[index][:1]
    lines = [line for part in whole for line in part]
    if len(lines) <= height:
        return lines
    hidden_count = len(lines) - height + 1
    return [ProgressLine(f"  ... {hidden_count} earlier lines", "dim"), *lines[hidden_count:]][
        -height:
    ]


def visit_lines(progress: Progress, width: int) -> list[ProgressLine]:
    """Format one line for each visit, and the reason if it failed."""
    lines: list[ProgressLine] = []
    for visit in progress.visits.values():
        first, *_ = _visit_lines(visit, width)
        lines.append(first)
        lines += _reasons(visit, width)
    return lines


def head_line(width: int) -> ProgressLine:
    """Return the column titles."""
    return ProgressLine(_columns("", "time", "tokens", "USD", width), "dim")


def wrapped(text: str, width: int, margin: str, further: str | None = None) -> list[str]:
    """Wrap a text at words, with a hanging indent.

    Args:
        text: External text; its own line breaks stay.
        width: In cells.
        margin: Before the first line.
        further: Before each other line; default: `margin`.
    """
    further = margin if further is None else further
    first, others = (max(width - cell_len(prefix), 20) for prefix in (margin, further))
    lines: list[str] = []
    for part in text.split("\n"):
        room = others if lines else first
        lines += wrap_cells(one_line(part), room, others) or [""]
    return [f"{further if number else margin}{line}" for number, line in enumerate(lines)]


def task_text(task: TaskRow) -> str:
    """Format how a task ended, for a log line."""
    parts = [f"{MARKS[task.state]} {task.name}"]
    if task.state == "skipped":
        parts.append("skipped")
    if task.seconds is not None:
        parts.append(duration(task.seconds))
    if task.tokens:
        parts.append(f"{task.tokens:,} tokens{' (estimated)' if task.estimated else ''}")
    return "  ".join(parts)


def _visit_lines(visit: VisitRow, width: int) -> Iterator[ProgressLine]:
    yield row_line(visit, 0, width)
    for task in visit.tasks.values():
        yield row_line(task, 1, width)
        if task.because:
            because = wrapped(task.because, width, "      ")
            yield from (ProgressLine(line, _reason_style(task)) for line in because[:3])


def _reasons(visit: VisitRow, width: int) -> Iterator[ProgressLine]:
    for task in visit.tasks.values():
        if task.because:
            wrapped_lines = wrapped(f"{task.name}: {task.because}", width, "    ", "      ")
            yield from (ProgressLine(line, _reason_style(task)) for line in wrapped_lines[:4])


def _reason_style(task: TaskRow) -> str:
    return "yellow" if task.state == "partial" else "red"


def row_line(row: TaskRow | VisitRow, depth: int, width: int) -> ProgressLine:
    """Format one row in its columns; tokens and money that are estimated begin with `~`.

    Args:
        row: The row.
        depth: Levels of indentation.
        width: In cells.
    """
    name = f"{'  ' * depth}{MARKS[row.state]} {one_line(row.name)}"
    time = "" if row.seconds is None else duration(row.seconds)
    about = "~" if row.estimated else ""
    tokens = f"{about}{row.tokens:,}" if row.tokens else ""
    money = "" if row.money is None else f"{about}{column_money(row.money)}"
    return ProgressLine(_columns(name, time, tokens, money, width), STYLES[row.state])


def _columns(name: str, time: str, tokens: str, money: str, width: int) -> str:
    """Format the four columns; a narrow terminal drops money first, then tokens."""
    cells: list[tuple[str, int]] = [(time, _TIME), (tokens, _TOKENS), (money, _MONEY)]
    while len(cells) > 1 and width - sum(wide for _, wide in cells) < _MIN_NAME_WIDTH + 8:
        cells.pop()
    room = min(width - sum(wide for _, wide in cells) - 1, _MAX_NAME_WIDTH)
    right = "".join(text.rjust(wide) for text, wide in cells)
    return f"{_fit_to_cells(name, max(room, 4))}{right}".rstrip()


def _fit_to_cells(text: str, cells: int) -> str:
    if cell_len(text) <= cells:
        return set_cell_size(text, cells)
    return f"{set_cell_size(text, cells - 1)}…"


def text_lines(lines: Sequence[ProgressLine]) -> str:
    """Join the lines without their styles."""
    return "\n".join(line.text for line in lines)


_PIECE = re.compile(r"\s+|\S+")


def wrap_cells(text: str, first: int, further: int) -> list[str]:
    """Wrap one line at words; break words that no line can hold.

    Args:
        text: Without line breaks; its leading whitespace stays.
        first: Width of the first line, in cells.
        further: Width of each other line.
    """
    lines: list[str] = []
    line = ""
    for piece in _PIECE.findall(text):
        room = further if lines else first
        if cell_len(line) + cell_len(piece) <= room:
            line += piece
        elif not piece.isspace():
            if line.strip() and cell_len(piece) <= further:
                lines.append(line.rstrip())
                line = piece
            else:
                *full, line = _break_word(line, piece, room, further)
                lines += full
        elif line.strip():
            lines.append(line)
            line = ""
    return [*lines, line.rstrip()] if line.strip() else lines


def _break_word(line: str, word: str, room: int, further: int) -> list[str]:
    """Fill the rest of a line with the beginning of a long word, and further lines with the rest.

    Such words are links, or text of a script without spaces.
    """
    space = room - cell_len(line)
    head = chop_cells(word, space)[0] if space > 1 else ""
    rest = word[len(head) :]
    return [line + head, *(chop_cells(rest, further) if rest else [])]
