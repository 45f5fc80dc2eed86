"""Read unified diffs as models write them: the lines count, the numbers are hints.

The parser tolerates wrong or missing @@ numbers, context lines without their leading space, code
fences around the diff, CRLF and missing file headers. It names every other defect. Pure text:
`hunk_application.py` decides where a hunk belongs, and how to read a damaged line.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from coterie.activities.changes.diff_header import (
    DiffHeader,
    DiffProblem,
    is_file_header,
    read_header,
)

_FENCE = re.compile(r"^(`{3,}(?!`)(?=[^`]*$)|~{3,}(?=[\w+-]*\s*$))(.*)$")
"""The marks of a fence and its info, like `c#` or `python title=a.py`; CommonMark allows any text
after backticks. Lines of tildes are also headings of RST, which have none."""


class UnclosedFence(Exception):
    """The text starts with a code fence that is never closed, so its content is unclear."""


def unfenced(text: str) -> list[str]:
    """Strip CR, blank lines at both ends, and a fence around the whole text.

    A fence that closes before the last line is part of the text, as in a README that starts with an
    example.

    Raises:
        UnclosedFence: The first line opens a fence that is never closed.
    """
    lines = _bare_lines(text)
    if not (lines and _FENCE.match(lines[0])):
        return lines
    closing = _closing_fence(lines)
    if closing is None:
        raise UnclosedFence
    if any(line.strip() for line in lines[closing + 1 :]):
        return lines
    return lines[1:closing]


def unfenced_diff(text: str) -> list[str]:
    """Strip CR, blank lines at both ends, and a fence with optional prose after it, from a diff.

    No line of a diff starts with a fence, so an unclosed one is stripped too.
    """
    lines = _bare_lines(text)
    fence = _FENCE.match(lines[0]) if lines else None
    return _until_fence(lines[1:], fence[1]) if fence else lines


def without_trailing_blanks(lines: list[str]) -> list[str]:
    """Strip empty lines at the end, which are mostly layout."""
    end = len(lines)
    while end and not lines[end - 1]:
        end -= 1
    return lines[:end]


def _bare_lines(text: str) -> list[str]:
    lines = without_trailing_blanks(text.replace("\r\n", "\n").removeprefix("\ufeff").split("\n"))
    while lines and not lines[0].strip():
        lines = lines[1:]
    return lines


def _closing_fence(lines: list[str]) -> int | None:
    """Find where the fence of the first line closes.

    Within it, a fence with a language name opens another one; a bare fence closes the latest.
    """
    open_fences: list[str] = []
    for at, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence is None:
            continue
        marks, language = fence[1], fence[2].strip()
        if not open_fences or language:
            open_fences.append(marks)
        elif marks.startswith(open_fences[-1]):
            open_fences.pop()
            if not open_fences:
                return at
    return None


def _until_fence(lines: list[str], fence: str) -> list[str]:
    """Return the lines before the closing fence if only prose follows it."""
    for at, line in reversed([*enumerate(lines)]):
        if line.rstrip() == fence:
            return lines[:at]
        if line.startswith(("+", "-", "@", " ")):
            break
    return lines


Op = Literal[" ", "+", "-"]

_NUMBERS = re.compile(r"^@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = re.compile(r"^\\ ?No newline at end of file\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HunkLine:
    """One line of a hunk."""

    op: Op
    text: str
    """The text without prefix and line end."""
    also: str | None = None
    """The alternative text of a context line that may have lost its prefix."""

    def is_like(self, line: str) -> bool:
        """Return whether a line of a file has this text, ignoring trailing whitespace."""
        bare = line.rstrip()
        return bare == self.text.rstrip() or (self.also is not None and bare == self.also.rstrip())

    @property
    def written(self) -> str:
        """The added or removed line as written in the diff, with its sign."""
        return self.op + self.text


@dataclass(frozen=True, slots=True)
class Hunk:
    """One contiguous part of a diff."""

    number: int
    """From 1."""
    lines: tuple[HunkLine, ...]
    start: int | None = None
    """Index of its first old line, from 0, as in the @@ line; often wrong."""
    new_start: int | None = None
    """Index of its first new line, after all earlier hunks."""
    counts: tuple[int, int] | None = None
    """Numbers of old and new lines, as in the @@ line; often wrong."""
    trimmed: int = 0
    """Blank lines at its end that were dropped as layout."""
    ends_bare: bool | None = None
    """Whether the new file ends without a newline; None when the diff does not show it."""

    @property
    def old(self) -> tuple[HunkLine, ...]:
        """The lines that the file must contain: context and removed."""
        return tuple(line for line in self.lines if line.op != "+")

    @property
    def new(self) -> tuple[HunkLine, ...]:
        """The lines that replace them: context and added."""
        return tuple(line for line in self.lines if line.op != "-")

    @property
    def growth(self) -> int:
        """How many lines the file grows by."""
        return len(self.new) - len(self.old)

    @property
    def fits_its_counts(self) -> bool:
        """Whether the line counts match the @@ line; False if it has none."""
        if self.counts is None:
            return False
        old, new = self.counts
        missing = old - len(self.old)
        return 0 <= missing <= self.trimmed and new - len(self.new) == missing


@dataclass(frozen=True, slots=True)
class Diff:
    """The diff of one file."""

    header: DiffHeader
    hunks: tuple[Hunk, ...]


def parse_diff(text: str, file_path: str) -> Diff:
    """Read the diff of one file.

    Raises:
        DiffProblem: It is not a diff, is for another file, or does more than change lines.
    """
    header, body = read_header(unfenced_diff(text), file_path)
    hunks = _hunks(body)
    if not any(line.op != " " for hunk in hunks for line in hunk.lines):
        raise DiffProblem(
            "the diff changes nothing: no line starts with + or - "
            "(to give the whole new file, use content instead of diff)"
        )
    return Diff(header=header, hunks=hunks)


def parse_new_file(text: str, file_path: str) -> tuple[str, bool | None]:
    """Return the content of a new file, from a diff against nothing or from plain text.

    Returns:
        The content, and whether to make the file executable (None: unspecified).

    Raises:
        DiffProblem: It is for another file, or only some of its lines start with +.
    """
    header, body = read_header(unfenced_diff(text), file_path)
    if not header.present and not any(line.startswith(("+", "@@")) for line in body):
        return bare_content(text), None
    added: list[str] = []
    ends_bare = False
    for line in without_trailing_blanks(body):
        if line.startswith("@@"):
            continue
        if _NO_NEWLINE.match(line):
            ends_bare = True
        elif line.startswith("+") or not line.strip():
            added.append(line[1:])
        else:
            raise DiffProblem(
                f"in the diff of a new file every line must start with +, but one is {line!r}"
            )
    content = "\n".join(added) + ("" if ends_bare or not added else "\n")
    return content, header.executable


def bare_content(text: str) -> str:
    """Return the content of a file without the code fence that a model put around it.

    Raises:
        DiffProblem: It starts with a code fence that is never closed.
    """
    try:
        return "".join(f"{line}\n" for line in unfenced(text))
    except UnclosedFence:
        raise DiffProblem(
            "the content starts with a code fence that is never closed, so it may be cut off; "
            "close the fence, or leave it out"
        ) from None


def _hunks(body: list[str]) -> tuple[Hunk, ...]:
    starts = [at for at, line in enumerate(body) if line.startswith("@@")]
    for at in range(len(body)):
        if is_file_header(body, at) and at + 2 in starts:
            raise DiffProblem(
                f"the diff continues with a second file ({body[at + 1][4:].strip()}); "
                "write one change per file"
            )
    hunks: list[Hunk] = []
    for begin, end in pairwise([-1, *starts, len(body)]):
        head = body[begin] if begin >= 0 else ""
        section = body[begin + 1 : end]
        lines = without_trailing_blanks(section)
        if lines:
            hunks.append(_hunk(len(hunks) + 1, head, lines, len(section) - len(lines)))
    return tuple(hunks)


def _hunk(number: int, head: str, lines: list[str], trimmed: int) -> Hunk:
    numbers = _NUMBERS.match(head)
    start = new_start = counts = None
    if numbers:
        start, new_start = _index(numbers[1], numbers[2]), _index(numbers[3], numbers[4])
        counts = int(numbers[2] or 1), int(numbers[4] or 1)
    hunk_lines: list[HunkLine] = []
    ends_bare: bool | None = None
    for line in lines:
        if _NO_NEWLINE.match(line):
            # After a removed line the marker refers to the old file: the new one ends with a
            # newline.
            ends_bare = bool(hunk_lines) and hunk_lines[-1].op != "-"
        else:
            hunk_lines.append(_hunk_line(line))
    return Hunk(number, tuple(hunk_lines), start, new_start, counts, trimmed, ends_bare)


def _index(number: str, count: str | None) -> int:
    """Convert a line number to an index; `-5,0` means after line 5."""
    return int(number) - (0 if count == "0" else 1)


def _hunk_line(line: str) -> HunkLine:
    if line.startswith("+"):
        return HunkLine("+", line[1:])
    if line.startswith("-"):
        return HunkLine("-", line[1:])
    if line.startswith(" "):
        return HunkLine(" ", line[1:], also=line)
    return HunkLine(" ", line)
