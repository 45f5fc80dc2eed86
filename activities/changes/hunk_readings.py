"""Decide how to read a hunk with a line that may be damaged.

A context line that lost its leading space and starts with a sign, like a list item, reads as added
or removed. The counts of the @@ line show it; if they do not and both readings fit the text, the
hunk is ambiguous.
"""

from dataclasses import replace
from itertools import combinations

from coterie.activities.changes.diff import Hunk, HunkLine
from coterie.activities.changes.diff_header import DiffProblem
from coterie.activities.changes.hunk_matching import exact_positions

_MAX_DOUBTFUL = 8
"""Lines that may be damaged; all combinations are tried."""


def confirmed_reading(lines: list[str], hunk: Hunk) -> Hunk:
    """Return the hunk as written, or with some lines read as context if its counts confirm that.

    Raises:
        DiffProblem: It can be read in several ways, and its counts do not decide.
    """
    if hunk.fits_its_counts:
        return hunk
    standing = {line.rstrip() for line in lines}
    doubtful = [
        at
        for at, line in enumerate(hunk.lines)
        if line.op != " " and line.written.rstrip() in standing
    ]
    if not doubtful:
        return hunk
    if len(doubtful) > _MAX_DOUBTFUL:
        raise _unclear(hunk, doubtful)
    others = [
        reading
        for size in range(1, len(doubtful) + 1)
        for chosen in combinations(doubtful, size)
        if exact_positions(lines, (reading := _as_context(hunk, chosen)).old)
    ]
    if not others:
        return hunk
    confirmed = [reading for reading in others if reading.fits_its_counts]
    if len(confirmed) != 1 or exact_positions(lines, hunk.old):
        raise _unclear(hunk, doubtful)
    return confirmed[0]


def _as_context(hunk: Hunk, chosen: tuple[int, ...]) -> Hunk:
    read = tuple(
        HunkLine(" ", line.written) if at in chosen else line for at, line in enumerate(hunk.lines)
    )
    return replace(hunk, lines=read)


def _unclear(hunk: Hunk, doubtful: list[int]) -> DiffProblem:
    line = hunk.lines[doubtful[0]]
    change = "an added" if line.op == "+" else "a removed"
    return DiffProblem(
        f"hunk {hunk.number} can be read in several ways: {line.written!r} may be {change} line, "
        "or a context line without its leading space. Start every context line with a space, and "
        "count the lines in the @@ line"
    )
