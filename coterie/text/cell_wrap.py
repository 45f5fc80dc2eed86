"""Wrap text at words by the cells of a terminal, where wide characters take two."""

import re

from rich.cells import cell_len, chop_cells

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
    left = room - cell_len(line)
    head = chop_cells(word, left)[0] if left > 1 else ""
    rest = word[len(head) :]
    return [line + head, *(chop_cells(rest, further) if rest else [])]
