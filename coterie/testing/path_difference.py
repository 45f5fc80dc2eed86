"""Compare the expected path with the path that a run took, with the reason for each step."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from coterie.workflows.core.views import TrailEntry

_AROUND = 3
"""Equal teams to show before and after each difference."""

Expected = Sequence[str | tuple[str, ...]]


def path_lines(expected: Expected, taken: Sequence[TrailEntry]) -> tuple[str, ...]:
    """Show the two paths side by side, or nothing if they are equal.

    Args:
        expected: Team ids; those in a nested list may come in any order.
        taken: Trail entries of the visited teams.
    """
    found = [entry.team for entry in taken]
    wanted = _in_found_order(expected, found)
    if wanted == found:
        return ()
    return tuple(_shorten_lines(list(_beside(wanted, taken))))


def _in_found_order(expected: Expected, found: Sequence[str]) -> list[str]:
    """Flatten the expected teams; use the found order within a group if it has the same teams."""
    wanted: list[str] = []
    for part in expected:
        if isinstance(part, str):
            wanted.append(part)
            continue
        came = list(found[len(wanted) : len(wanted) + len(part)])
        wanted += came if sorted(came) == sorted(part) else part
    return wanted


def _beside(wanted: Sequence[str], taken: Sequence[TrailEntry]) -> Iterator[tuple[str, str]]:
    """Yield each line with its mark: equal, `-` for missing, `+` for unexpected."""
    found = [entry.team for entry in taken]
    width = max(map(len, [*wanted, *found]))
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


def _shorten_lines(lines: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines without long equal stretches."""
    changed_lines = {number for number, (kind, _) in enumerate(lines) if kind != " "}
    near = {n for number in changed_lines for n in range(number - _AROUND, number + _AROUND + 1)}
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
