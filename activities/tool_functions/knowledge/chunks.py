"""Split a text into chunks of whole lines that fit the embedding model."""

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_CHARS = 1000
"""Characters of a chunk: about the 256 tokens that the model reads."""

_HEADING = re.compile(r"(#{1,6})\s+(.+)|(?:def|class|async def)\s+(\w+)")
_FENCES = ("```", "~~~")
_UNDERLINE = re.compile(r"(=|-|~|\^|\*){3,}\s*")


class Chunk(NamedTuple):
    """A part of a text."""

    start_line: int
    """Its first line, from 1."""
    end_line: int
    title: str
    """The heading above it, or the name of the definition around it."""
    text: str


def chunks_of(text: str) -> Iterator[Chunk]:
    """Yield the chunks of a text in order; none of them is blank.

    A chunk ends before a heading, else at a blank line if it is nearly full, else when it is full.
    """
    lines = text.splitlines()
    title, begin, size, fenced = "", 0, 0, False
    for index, line in enumerate(lines):
        fenced ^= line.lstrip().startswith(_FENCES)
        heading = None if fenced else _heading(lines, index)
        full = size + len(line) > MAX_CHARS
        nearly = size > MAX_CHARS // 2 and not line.strip()
        if heading is not None or full or nearly:
            yield from _parts(lines, begin, index, title)
            begin, size = index, 0
        title = title if heading is None else heading
        size += len(line) + 1
    yield from _parts(lines, begin, len(lines), title)


def _heading(lines: list[str], index: int) -> str | None:
    """Return the heading that a line is; also one that the next line underlines."""
    line = lines[index].strip()
    match = _HEADING.match(line)
    if match is not None:
        return (match[2] or match[3]).strip()[:200]
    below = lines[index + 1] if index + 1 < len(lines) else ""
    underlined = line and _UNDERLINE.fullmatch(below) and len(below.strip()) >= len(line) - 2
    return line[:200] if underlined else None


def _parts(lines: list[str], begin: int, end: int, title: str) -> Iterator[Chunk]:
    """Yield one chunk without blank lines around it; several for a line that is too long."""
    while begin < end and not lines[begin].strip():
        begin += 1
    while end > begin and not lines[end - 1].strip():
        end -= 1
    text = "\n".join(lines[begin:end])
    for start in range(0, len(text), MAX_CHARS * 2):
        yield Chunk(begin + 1, end, title, text[start : start + MAX_CHARS * 2])
