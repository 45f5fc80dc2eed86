"""Find where the lines of one hunk are in a text: exact, as its result, or with drifted context.

Each function returns every place as a line index; `hunk_application.py` decides among them.
"""

from difflib import SequenceMatcher

from coterie.activities.changes.diff import Hunk, HunkLine

MAX_DRIFTED = 2
"""Context lines on each side of a change that may differ, as with `patch --fuzz=2`."""

MIN_RATIO = 0.5
"""Minimum similarity of a drifted line to the line in its place; 1.0 is equal."""

MIN_CONFIRMED = 2
"""Non-blank lines that must match where an @@ number confirms a place with a drifted line."""

MIN_MATCHED = 4
"""Non-blank lines that must match where no @@ number confirms a place with a drifted line."""


def exact_positions(lines: list[str], wanted: tuple[HunkLine, ...]) -> list[int]:
    """Find where all wanted lines are consecutive, ignoring trailing whitespace."""
    if not wanted:
        return [] if lines else [0]
    first, *rest = wanted
    bare = {text.rstrip() for text in (first.text, first.also) if text is not None}
    return [
        at
        for at, line in enumerate(lines[: max(0, len(lines) - len(rest))])
        if line.rstrip() in bare  # most places fail here, so this is fast
        and all(want.is_like(lines[at + offset]) for offset, want in enumerate(rest, 1))
    ]


def result_positions(lines: list[str], hunk: Hunk) -> list[int]:
    """Find where the hunk's result is; only a hunk with added and context lines can prove it."""
    if not {" ", "+"} <= {line.op for line in hunk.lines if line.text.strip()}:
        return []
    return [at for at in exact_positions(lines, hunk.new) if result_stands(lines, hunk, at)]


def result_stands(lines: list[str], hunk: Hunk, at: int) -> bool:
    """Compare added lines exactly, and context without trailing whitespace."""
    new = hunk.new
    return at + len(new) <= len(lines) and all(
        lines[at + offset] == line.text if line.op == "+" else line.is_like(lines[at + offset])
        for offset, line in enumerate(new)
    )


def stands_elsewhere(lines: list[str], hunk: Hunk, at: int) -> bool:
    """Return whether any line of the hunk occurs outside the hunk's result at this place."""
    outside = {line.rstrip() for line in lines[:at] + lines[at + len(hunk.new) :]}
    return any(
        text.rstrip() in outside
        for line in hunk.lines
        for text in (line.text, line.also or "")
        if text.strip()
    )


def drifted_positions(lines: list[str], hunk: Hunk) -> list[int]:
    """Find where the hunk fits except for context before its first or after its last change.

    The lines in between must match exactly. On each side at most `MAX_DRIFTED` lines differ, or one
    where there is nothing in between.
    """
    if all(line.op == " " for line in hunk.lines):
        return []
    before, inner, after = _parts(hunk)
    old = [*before, *inner, *after]
    first, maximum = len(before), MAX_DRIFTED if inner else 1
    positions: list[int] = []
    for at in range(len(lines) - len(old) + 1):
        core = at + first
        if (
            all(_stands(line, lines[core + offset]) for offset, line in enumerate(inner))
            and _differing(before, lines[at:core]) <= maximum
            and _differing(after, lines[core + len(inner) :]) <= maximum
        ):
            positions.append(at)
    return positions


def is_safe_drift(lines: list[str], hunk: Hunk, at: int, expected: list[int]) -> bool:
    """Return whether this is the hunk's own place, drifted, and not a similar one.

    Each differing line must resemble the line in its place and occur nowhere else in the text:
    otherwise it would show where the hunk belongs. An @@ number must agree with the place, because
    the hunk's target may be gone and a similar block left. Without a number, only one line may
    differ and several must match.
    """
    if expected and at not in expected:
        return False
    differing = 0
    matched = 0
    everywhere = {line.rstrip() for line in lines}
    for offset, want in enumerate(hunk.old):
        line = lines[at + offset]
        if want.is_like(line):
            matched += bool(line.strip())
            continue
        differing += 1
        if want.text.rstrip() in everywhere or (want.also or "").rstrip() in everywhere:
            return False
        if SequenceMatcher(None, want.text.strip(), line.strip()).ratio() < MIN_RATIO:
            return False
    if expected:
        return matched >= MIN_CONFIRMED
    return differing == 1 and matched >= MIN_MATCHED


def _parts(hunk: Hunk) -> tuple[list[HunkLine], list[HunkLine], list[HunkLine]]:
    """Split the old lines: context before the first change, changes, context after the last."""
    changed = [at for at, line in enumerate(hunk.lines) if line.op != " "]
    first, last = changed[0], changed[-1]
    inner = [line for line in hunk.lines[first : last + 1] if line.op != "+"]
    return list(hunk.lines[:first]), inner, list(hunk.lines[last + 1 :])


def _stands(want: HunkLine, line: str) -> bool:
    return line == want.text if want.op == "-" else want.is_like(line)


def _differing(hunk_lines: list[HunkLine], lines: list[str]) -> int:
    return sum(not want.is_like(line) for want, line in zip(hunk_lines, lines, strict=False))
