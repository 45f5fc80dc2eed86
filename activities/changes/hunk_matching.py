"""Where the lines of one hunk stand in a text: exactly, as its result, or with drifted context.

Each function gives every place, as an index of lines; `hunk_application.py` decides among them.
"""

from difflib import SequenceMatcher

from activities.changes.diff import Hunk, HunkLine

MAX_DRIFTED = 2
"""Context lines on each side of a change that may differ, as with `patch --fuzz=2`."""

MIN_RATIO = 0.5
"""How alike a drifted line is to the one that stands in its place; 1.0 is equal."""

MIN_CONFIRMED = 2
"""Lines with text that match where an @@ number confirms a place with a drifted line."""

MIN_MATCHED = 4
"""Lines with text that match where no @@ number confirms a place with a drifted line."""


def exact_places(lines: list[str], wanted: tuple[HunkLine, ...]) -> list[int]:
    """Where all wanted lines follow one another; trailing whitespace does not matter."""
    if not wanted:
        return [] if lines else [0]
    return [
        at
        for at in range(len(lines) - len(wanted) + 1)
        if all(want.is_like(lines[at + offset]) for offset, want in enumerate(wanted))
    ]


def result_places(lines: list[str], hunk: Hunk) -> list[int]:
    """Where the hunk's result stands; to be sure, it needs both added and context lines."""
    if not {" ", "+"} <= {line.op for line in hunk.lines if line.text.strip()}:
        return []
    return [at for at in exact_places(lines, hunk.new) if result_stands(lines, hunk, at)]


def result_stands(lines: list[str], hunk: Hunk, at: int) -> bool:
    """Are the added lines there to the letter? Context may differ in trailing whitespace."""
    new = hunk.new
    return at + len(new) <= len(lines) and all(
        lines[at + offset] == line.text if line.op == "+" else line.is_like(lines[at + offset])
        for offset, line in enumerate(new)
    )


def stands_elsewhere(lines: list[str], hunk: Hunk, at: int) -> bool:
    """Does any line of the hunk stand in the text outside of the hunk's result at this place?"""
    outside = {line.rstrip() for line in lines[:at] + lines[at + len(hunk.new) :]}
    return any(
        text.rstrip() in outside
        for line in hunk.lines
        for text in (line.text, line.also or "")
        if text.strip()
    )


def drifted_places(lines: list[str], hunk: Hunk) -> list[int]:
    """Where the hunk fits but for some context lines before its first or after its last change.

    The lines in between stand there to the letter. On each side at most `MAX_DRIFTED` differ, or
    one where nothing stands in between.
    """
    if all(line.op == " " for line in hunk.lines):
        return []
    before, inner, after = _parts(hunk)
    old = [*before, *inner, *after]
    first, most = len(before), MAX_DRIFTED if inner else 1
    found: list[int] = []
    for at in range(len(lines) - len(old) + 1):
        core = at + first
        if (
            all(_stands(line, lines[core + offset]) for offset, line in enumerate(inner))
            and _differing(before, lines[at:core]) <= most
            and _differing(after, lines[core + len(inner) :]) <= most
        ):
            found.append(at)
    return found


def is_safe_drift(lines: list[str], hunk: Hunk, at: int, expected: list[int]) -> bool:
    """Is it the hunk's own place that drifted, and not another one that looks like it?

    Each line that differs is still like the one in its place, and stands nowhere else in the
    text: else it would tell where the hunk belongs. A number of the @@ line has to agree with
    the place, for what the hunk was made for may be gone and a twin be left. Without a number,
    only one line may differ and several have to match.
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
    """Its old lines: context before the first change, up to the last change, and context after."""
    changed = [at for at, line in enumerate(hunk.lines) if line.op != " "]
    first, last = changed[0], changed[-1]
    inner = [line for line in hunk.lines[first : last + 1] if line.op != "+"]
    return list(hunk.lines[:first]), inner, list(hunk.lines[last + 1 :])


def _stands(want: HunkLine, line: str) -> bool:
    return line == want.text if want.op == "-" else want.is_like(line)


def _differing(wanted: list[HunkLine], lines: list[str]) -> int:
    return sum(not want.is_like(line) for want, line in zip(wanted, lines, strict=False))
