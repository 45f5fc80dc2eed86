"""Judge what the numbers, the order and the shape of hunks prove about their places.

Models guess @@ numbers, and files change after a diff is made. A number decides between blocks that
are alike only where nothing else in the diff contradicts it. Lines that fit only once are refused
where the numbers, or missing context at an edge of the file, point to a changed copy of them.
"""

from coterie.activities.changes.diff import Hunk

ExactPositions = dict[int, list[int]]
"""Where the lines of each hunk are, by its number."""

MIN_ALIKE = 0.5
"""Minimum share of a hunk's lines that a changed copy of its block still has."""


def expected_positions(hunk: Hunk, hunks: list[Hunk], exact: ExactPositions) -> list[int]:
    """Return where the @@ line puts the hunk: as written, or shifted like the unique hunks."""
    if hunk.start is None or hunk.new_start is None:
        return []
    moved = [
        exact[other.number][0] - other.start
        for other in hunks
        if other.start is not None and len(exact[other.number]) == 1
    ]
    return list(dict.fromkeys([hunk.start, hunk.new_start, *(hunk.start + by for by in moved)]))


def proven_position(
    lines: list[str], hunk: Hunk, hunks: list[Hunk], exact: ExactPositions
) -> int | None:
    """Return the one of a hunk's exact places that the numbers prove; None if they prove none."""
    if hunk.start is None or not _is_counted(hunk, hunks):
        return None
    others = [other for other in hunks if other is not hunk]
    numbered = {hunk.start + by for by in _shifts_around(hunk.start, others, exact) or [0]}
    proven = numbered & set(exact[hunk.number])
    at_edge = {at for at in _edges(lines, hunk) if at in exact[hunk.number]}
    return proven.pop() if len(proven) == 1 and at_edge <= proven else None


def is_in_order(hunks: list[Hunk], exact: ExactPositions) -> bool:
    """Return whether the numbers and the unique places of the hunks ascend as in the diff."""
    starts = [hunk.start for hunk in hunks if hunk.start is not None]
    positions = [exact[hunk.number][0] for hunk in hunks if len(exact[hunk.number]) == 1]
    return starts == sorted(starts) and positions == sorted(positions)


def contradiction(
    lines: list[str], hunk: Hunk, hunks: list[Hunk], exact: ExactPositions
) -> str | None:
    """Say what tells against the exact places of a hunk: a changed copy, or the other hunks."""
    positions = exact[hunk.number]
    for at in [*expected_positions(hunk, hunks, exact), *_edges(lines, hunk)]:
        apart = all(abs(at - position) >= len(hunk.old) for position in positions)
        if apart and _is_changed_copy(lines, hunk, at):
            return (
                f"the diff puts it at line {at + 1}, which has similar lines; copy the lines there "
                "as they are now, or correct the line number"
            )
    wrong = _hunk_on_wrong_side(hunk, hunks, exact) if len(positions) == 1 else None
    if wrong is None:
        return None
    other, side = wrong
    return (
        f"the diff and its line numbers put it {side} hunk {other.number}, which is at line "
        f"{exact[other.number][0] + 1}; correct the line numbers"
    )


def _hunk_on_wrong_side(
    hunk: Hunk, hunks: list[Hunk], exact: ExactPositions
) -> tuple[Hunk, str] | None:
    """Return a unique hunk on the wrong side by both the order of the diff and the numbers.

    With it: on which side of it the hunk belongs.
    """
    at = exact[hunk.number][0]
    for other in hunks:
        if hunk.start is None or other.start is None or len(exact[other.number]) != 1:
            continue
        position = exact[other.number][0]
        if other.number < hunk.number and other.start < hunk.start and position > at:
            return other, "below"
        if other.number > hunk.number and other.start > hunk.start and position < at:
            return other, "above"
    return None


def _is_counted(hunk: Hunk, hunks: list[Hunk]) -> bool:
    """Return whether the counts and the new number agree with the lines, as a tool writes them."""
    if hunk.start is None or hunk.new_start is None or not hunk.fits_its_counts:
        return False
    above = [other for other in hunks if other.start is not None and other.start < hunk.start]
    return hunk.new_start - hunk.start == sum(other.growth for other in above)


def _shifts_around(start: int, others: list[Hunk], exact: ExactPositions) -> list[int]:
    """Return how far the nearest unique hunks above and below are from their own numbers."""
    unique = sorted(
        (hunk.start, exact[hunk.number][0] - hunk.start)
        for hunk in others
        if hunk.start is not None and len(exact[hunk.number]) == 1
    )
    above = [by for other, by in unique if other <= start][-1:]
    return above + [by for other, by in unique if other > start][:1]


def _edges(lines: list[str], hunk: Hunk) -> list[int]:
    """Return the places at the edges of the file that the shape of a hunk asks for.

    A tool leaves out context only where the file has no more lines.
    """
    changed = [at for at, line in enumerate(hunk.lines) if line.op != " "]
    if not changed:
        return []
    above, below = changed[0], len(hunk.lines) - 1 - changed[-1] + hunk.trimmed
    first = [0] if above < below else []
    at_end = below < above or hunk.ends_bare is not None
    return [*first, len(lines) - len(hunk.old)] if at_end else first


def _is_changed_copy(lines: list[str], hunk: Hunk, at: int) -> bool:
    if at < 0:
        return False
    there = lines[at : at + len(hunk.old)]
    has_text = [want.text.strip() != "" for want in hunk.old]
    alike = sum(
        counts and want.is_like(line)
        for want, line, counts in zip(hunk.old, there, has_text, strict=False)
    )
    return alike >= max(1, MIN_ALIKE * sum(has_text))
