"""The way that was expected against the way that a run took, with the reason of each step."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from workflows.core.views import TrailEntry

_AROUND = 3
"""So many equal teams are shown before and after each difference."""

Expected = Sequence[str | tuple[str, ...]]


def path_lines(expected: Expected, taken: Sequence[TrailEntry]) -> tuple[str, ...]:
    """The two ways beside each other, or nothing when they are the same.

    Args:
        expected: team ids; those of a list within it may come in any order.
        taken: the entries of the teams that were visited.
    """
    found = [entry.team for entry in taken]
    wanted = _in_found_order(expected, found)
    if wanted == found:
        return ()
    return tuple(_shortened(list(_beside(wanted, taken))))


def _in_found_order(expected: Expected, found: Sequence[str]) -> list[str]:
    """The expected teams as one list; where a group came in another order, in that order."""
    wanted: list[str] = []
    for part in expected:
        if isinstance(part, str):
            wanted.append(part)
            continue
        came = list(found[len(wanted) : len(wanted) + len(part)])
        wanted += came if sorted(came) == sorted(part) else part
    return wanted


def _beside(wanted: Sequence[str], taken: Sequence[TrailEntry]) -> Iterator[tuple[str, str]]:
    """Each line with what it is: equal, `-` for missing, `+` for unexpected."""
    found = [entry.team for entry in taken]
    width = max(map(len, [*wanted, *found]), default=0)
    matcher = SequenceMatcher(a=list(wanted), b=found, autojunk=False)
    for _, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        same = list(wanted[a_from:a_to]) == found[b_from:b_to]
        if same:
            yield from ((" ", f"    {team}") for team in wanted[a_from:a_to])
            continue
        yield from (("-", f"  - {team:{width}}  expected") for team in wanted[a_from:a_to])
        yield from (
            ("+", f"  + {entry.team:{width}}  taken, because {entry.because}")
            for entry in taken[b_from:b_to]
        )


def _shortened(lines: list[tuple[str, str]]) -> Iterator[str]:
    """The lines, with long equal stretches left out."""
    told = {number for number, (kind, _) in enumerate(lines) if kind != " "}
    near = {n for number in told for n in range(number - _AROUND, number + _AROUND + 1)}
    left_out = 0
    for number, (_, line) in enumerate(lines):
        if number in near or len(lines) <= 4 * _AROUND:
            if left_out:
                yield f"    ... {left_out} as expected"
            left_out = 0
            yield line
        else:
            left_out += 1
    if left_out:
        yield f"    ... {left_out} as expected"
