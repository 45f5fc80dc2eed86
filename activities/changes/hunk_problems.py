"""Explain why a hunk does not fit a text, for the model that writes the next one."""

from difflib import get_close_matches
from itertools import takewhile

from coterie.activities.changes.diff import Hunk, HunkLine

_LONG = 20_000
"""Lines searched for a similar one; more would take seconds."""


def first_missing(lines: list[str], hunk: Hunk) -> str:
    """Name the first line of the hunk that does not match, and what the text has instead."""
    if not hunk.old:
        return "it has only added lines, so its place is unknown"
    if not lines:
        return "the file is empty"
    for wanted in hunk.old:
        if not any(wanted.is_like(line) for line in lines):
            near = get_close_matches(wanted.text, lines[:_LONG], cutoff=0.5)
            hint = f"; the nearest is line {lines.index(near[0]) + 1}, {near[0]!r}" if near else ""
            return f"the file has no line {wanted.text!r}{hint}"
    at, fitting = _longest_start(lines, hunk.old)
    wanted, before = hunk.old[fitting], hunk.old[fitting - 1]
    if at + fitting >= len(lines):
        return f"after its last line, {before.text!r}, the file has no {wanted.text!r}"
    return (
        f"after {before.text!r} in line {at + fitting} the file has no {wanted.text!r} "
        f"but {lines[at + fitting]!r}"
    )


def _longest_start(lines: list[str], wanted: tuple[HunkLine, ...]) -> tuple[int, int]:
    """Find where most of the wanted lines follow one another from the first, and count them."""

    def fitting(at: int) -> int:
        alike = map(HunkLine.is_like, wanted, lines[at : at + len(wanted)])
        return len([*takewhile(bool, alike)])

    at = max(range(len(lines)), key=fitting)
    return at, fitting(at)
