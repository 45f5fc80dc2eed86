"""Diffs for files in which what a hunk is for stands twice: its place, and an exact twin above it.

Each damage makes the numbers of the diff, or the file, point to the twin. As in
`damaged_diffs.py`, the file that is meant is None where any application would be wrong.
"""

from random import Random

from tests.support.changes.damaged_diffs import (
    Damage,
    Damaged,
    Hunks,
    drifted_line,
    hunks_of,
    numbers_of,
    text_of,
)
from tests.support.changes.real_changes import RealChange


def _with_twin(change: RealChange, hunk: list[str]) -> tuple[str, str, int]:
    """Return the file and what is meant, below a twin of a hunk, and how far both moved."""
    twin = ["# a twin", *(line[1:] for line in hunk[1:] if line[0] != "+"), "# its end"]
    above = "\n".join(twin) + "\n"
    return above + change.before, above + change.after, len(twin)


def _numbered(hunks: Hunks, by: int) -> Hunks:
    moved: Hunks = []
    for hunk in hunks:
        old, count, new, made = numbers_of(hunk[0])
        head = f"@@ -{max(1, old + by)},{count} +{max(1, new + by)},{made} @@"
        moved.append([head, *hunk[1:]])
    return moved


def numbers_of_a_twin(change: RealChange, chance: Random) -> Damaged | None:
    """All numbers are wrong by the distance of the last hunk to its twin; other hunks tell it."""
    hunks = hunks_of(change.before, change.after)
    if len(hunks) < 2:
        return None
    file, meant, _ = _with_twin(change, hunks[-1])
    return Damaged(file, text_of(_numbered(hunks, 2 - numbers_of(hunks[-1][0])[0])), meant)


def twin_left_on_the_other_side_of_a_hunk(change: RealChange, chance: Random) -> Damaged | None:
    """The block of the last hunk has been deleted since; the twin is above the other hunks."""
    hunks = hunks_of(change.before, change.after)
    if len(hunks) < 2:
        return None
    file, _, moved = _with_twin(change, hunks[-1])
    old, count, _, _ = numbers_of(hunks[-1][0])
    lines, begin = file.split("\n"), moved + old - 1
    return Damaged("\n".join(lines[:begin] + lines[begin + count :]), text_of(hunks), None)


def number_of_a_twin_and_wrong_counts(change: RealChange, chance: Random) -> Damaged:
    """The one number is the twin's by chance, as the wrong counts show."""
    hunks = hunks_of(change.before, change.after)[:1]
    file, _, _ = _with_twin(change, hunks[0])
    count, made = numbers_of(hunks[0][0])[1::2]
    hunks[0][0] = f"@@ -2,{count + chance.randint(1, 4)} +2,{made + 5} @@"
    return Damaged(file, text_of(hunks), None)


def place_changed_and_twin_left(change: RealChange, chance: Random) -> Damaged | None:
    """The numbers are right, but a line there has changed since; the twin has it still."""
    hunk = hunks_of(change.before, change.after)[0]
    file, meant, moved = _with_twin(change, hunk)
    old = [line for line in hunk[1:] if line[0] != "+"]
    context = [at for at, line in enumerate(old) if line[0] == " " and line.strip()]
    if len(context) < 2:
        return None
    begin = moved + numbers_of(hunk[0])[0] - 1
    lines = file.split("\n")
    at = begin + chance.choice(context)
    changed = drifted_line(lines[at], chance)
    meant_lines = meant.split("\n")
    places = [n for n, line in enumerate(meant_lines) if n >= moved and line == lines[at]]
    if len(places) != 1 or changed in lines:
        return None
    meant_lines[places[0]] = lines[at] = changed
    hunks = _numbered(hunks_of(change.before, change.after), moved)
    return Damaged("\n".join(lines), text_of(hunks), "\n".join(meant_lines))


TWINS: dict[str, Damage] = {
    made.__name__: made
    for made in (
        numbers_of_a_twin,
        twin_left_on_the_other_side_of_a_hunk,
        number_of_a_twin_and_wrong_counts,
        place_changed_and_twin_left,
    )
}
