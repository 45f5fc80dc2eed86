"""Find where the hunks of a diff belong in a text, and apply them there.

A hunk is located by its lines. Where they occur more than once, the @@ numbers decide if they prove
one of the places (`hunk_evidence.py`), then the order of the hunks; if neither decides, the hunk is
refused, because a change in the wrong place is worse than another request to the model. It is also
refused where its lines are at one place and the numbers point to a changed copy of them. A hunk
counts as already present only where its result is at its own place. Pure text.

A context line that lost its leading space and starts with a sign, like a list item, reads as added
or removed. The counts of the @@ line show it; if they do not and both readings fit the text, the
hunk is ambiguous.
"""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import combinations, pairwise, takewhile

from coterie.activities.changes.diff import Hunk, HunkLine
from coterie.activities.changes.diff_header import DiffProblem
from coterie.activities.changes.hunk_evidence import (
    ExactPositions,
    contradiction,
    expected_positions,
    is_in_order,
    proven_position,
)
from coterie.activities.changes.hunk_matching import (
    drifted_positions,
    exact_positions,
    is_safe_drift,
    result_positions,
    result_stands,
    stands_elsewhere,
)

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
    lines = tuple(
        HunkLine(" ", line.written) if at in chosen else line for at, line in enumerate(hunk.lines)
    )
    return replace(hunk, lines=lines)


def _unclear(hunk: Hunk, doubtful: list[int]) -> DiffProblem:
    line = hunk.lines[doubtful[0]]
    change = "an added" if line.op == "+" else "a removed"
    return DiffProblem(
        f"hunk {hunk.number} can be read in several ways: {line.written!r} may be {change} line, "
        "or a context line without its leading space. Start every context line with a space, and "
        "count the lines in the @@ line"
    )


_LONG = 20_000
"""Lines searched for a similar one; more would take seconds."""


def first_missing(lines: list[str], hunk: Hunk) -> str:
    """Name the first line of the hunk that does not match, and what the text has instead."""
    if not hunk.old:
        return "it has only added lines, so its place is unknown"
    if not lines:
        return "the file is empty"
    for hunk_line in hunk.old:
        if not any(hunk_line.is_like(line) for line in lines):
            near = get_close_matches(hunk_line.text, lines[:_LONG], cutoff=0.5)
            hint = f"; the nearest is line {lines.index(near[0]) + 1}, {near[0]!r}" if near else ""
            return f"the file has no line {hunk_line.text!r}{hint}"
    at, fitting = _longest_start(lines, hunk.old)
    hunk_line, before = hunk.old[fitting], hunk.old[fitting - 1]
    if at + fitting >= len(lines):
        return f"after its last line, {before.text!r}, the file has no {hunk_line.text!r}"
    return (
        f"after {before.text!r} in line {at + fitting} the file has no {hunk_line.text!r} "
        f"but {lines[at + fitting]!r}"
    )


def _longest_start(lines: list[str], hunk_lines: tuple[HunkLine, ...]) -> tuple[int, int]:
    """Find where most of the wanted lines follow one another from the first, and count them."""

    def fitting(at: int) -> int:
        alike = map(HunkLine.is_like, hunk_lines, lines[at : at + len(hunk_lines)])
        return len([*takewhile(bool, alike)])

    at = max(range(len(lines)), key=fitting)
    return at, fitting(at)


@dataclass(frozen=True, slots=True)
class Patched:
    """A text after a diff was applied."""

    text: str
    added: int
    """Lines added."""
    removed: int
    already: bool
    """Whether the results of all hunks were already present."""
    hunks_applied: int
    hunks_present: int
    """Hunks whose result was already at its place."""


@dataclass(frozen=True, slots=True)
class _HunkPosition:
    hunk: Hunk
    at: int
    """Index of the first line that it covers."""
    already: bool = False

    @property
    def end(self) -> int:
        return self.at + len(self.hunk.new if self.already else self.hunk.old)


def patch(text: str, hunks: tuple[Hunk, ...]) -> Patched:
    """Apply all hunks to a text, or none.

    Keep line ends, a missing newline at the end and a byte order mark.

    Raises:
        DiffProblem: Some hunks fit nowhere or in several places; the message lists them.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    *pieces, last = text.removeprefix(mark).split("\n")
    lines = [piece.removesuffix("\r") for piece in pieces]
    ends = ["\r\n" if piece.endswith("\r") else "\n" for piece in pieces]
    newline = "\r\n" if 2 * ends.count("\r\n") > len(ends) else "\n"
    bare = last != ""
    if bare:
        lines.append(last)
        ends.append(newline)
    placed = _hunk_positions(lines, hunks)
    result = _weave(list(zip(lines, ends, strict=True)), placed, newline)
    for position in placed:
        if position.end == len(lines) and position.hunk.ends_bare is not None:
            bare = position.hunk.ends_bare
    if bare and result:
        result[-1] = (result[-1][0], "")
    new = mark + "".join(line + end for line, end in result)
    work = [position.hunk for position in placed if not position.already] if new != text else []
    return Patched(
        text=new,
        added=sum(line.op == "+" for hunk in work for line in hunk.lines),
        removed=sum(line.op == "-" for hunk in work for line in hunk.lines),
        already=new == text,
        hunks_applied=len(work),
        hunks_present=len(placed) - len(work),
    )


def _weave(
    lines: list[tuple[str, str]], placed: list[_HunkPosition], newline: str
) -> list[tuple[str, str]]:
    """Build the new lines with their ends; unchanged lines keep their own whitespace."""
    result: list[tuple[str, str]] = []
    at = 0
    for position in placed:
        if position.already:
            continue
        result += lines[at : position.at]
        at = position.at
        for line in position.hunk.lines:
            if line.op == "+":
                result.append((line.text, newline))
            else:
                if line.op == " ":
                    result.append(lines[at])
                at += 1
    return result + lines[at:]


def _hunk_positions(lines: list[str], hunks: tuple[Hunk, ...]) -> list[_HunkPosition]:
    """Find the one place of every hunk, in the order of the text."""
    readings: list[Hunk] = []
    problems: list[str] = []
    for hunk in hunks:
        try:
            readings.append(confirmed_reading(lines, hunk))
        except DiffProblem as problem:
            problems.append(str(problem))
    exact = {hunk.number: exact_positions(lines, hunk.old) for hunk in readings}
    choices: list[list[_HunkPosition]] = []
    for hunk in readings:
        try:
            choices.append(_options(lines, hunk, exact, readings))
        except DiffProblem as problem:
            problems.append(str(problem))
    if is_in_order(readings, exact):
        _decide_by_order(choices)
    problems += [_ambiguous(options) for options in choices if len(options) > 1]
    if problems:
        settled = [options[0] for options in choices if len(options) == 1]
        raise DiffProblem(_summary(len(hunks), settled, problems))
    placed = sorted(
        (options[0] for options in choices), key=lambda position: (position.at, position.end)
    )
    _refuse_overlap(placed)
    _refuse_repetition(lines, placed)
    return placed


def _options(
    lines: list[str], hunk: Hunk, exact: ExactPositions, hunks: list[Hunk]
) -> list[_HunkPosition]:
    """Find the possible places of a hunk: several where its lines and number do not decide.

    Raises:
        DiffProblem: It fits nowhere.
    """
    expected = expected_positions(hunk, hunks, exact)
    standing = result_positions(lines, hunk)
    present = [at for at in expected if at in standing]
    positions = exact[hunk.number]
    if positions:
        proven = proven_position(lines, hunk, hunks, exact)
        if proven is not None:
            return [_HunkPosition(hunk, proven)]
        elsewhere = f"hunk {hunk.number} fits at line {positions[0] + 1}, but "
        if positions != [hunk.start] and present:
            raise DiffProblem(
                f"{elsewhere}its result is already at line {present[0] + 1}, "
                "where its @@ line puts it"
            )
        if positions != [hunk.start] and (why := contradiction(lines, hunk, hunks, exact)):
            raise DiffProblem(elsewhere + why)
        return [_HunkPosition(hunk, at) for at in positions]
    if present:
        return [_HunkPosition(hunk, present[0], already=True)]
    if hunk.start is None and len(standing) == 1 and not stands_elsewhere(lines, hunk, standing[0]):
        return [_HunkPosition(hunk, standing[0], already=True)]
    drifted = drifted_positions(lines, hunk)
    if len(drifted) == 1 and is_safe_drift(lines, hunk, drifted[0], expected):
        return [_HunkPosition(hunk, drifted[0])]
    raise DiffProblem(f"hunk {hunk.number} does not fit: {_why_not(lines, hunk, standing)}")


def _why_not(lines: list[str], hunk: Hunk, standing: list[int]) -> str:
    if not standing:
        return first_missing(lines, hunk)
    line_numbers = ", ".join(str(at + 1) for at in standing[:5])
    return (
        f"{first_missing(lines, hunk)}; its result is at line {line_numbers}, but nothing confirms "
        "this place: leave the hunk out if it is right, or correct the line number"
    )


def _summary(count: int, settled: list[_HunkPosition], problems: list[str]) -> str:
    """Summarise how many hunks fit, are already present and are refused, and why."""
    if count == 1:
        return problems[0]
    present = sum(position.already for position in settled)
    fitting = len(settled) - present
    return (
        f"of {count} hunks {fitting} can be applied, {present} already present, "
        f"{len(problems)} refused: {'; '.join(problems)}"
    )


def _decide_by_order(choices: list[list[_HunkPosition]]) -> None:
    """Narrow each hunk's places to those between its neighbours with a single place."""
    changed = True
    while changed:
        changed = False
        for index, options in enumerate(choices):
            if len(options) == 1:
                continue
            before = [choice[0].end for choice in choices[:index] if len(choice) == 1]
            after = [choice[0].at for choice in choices[index + 1 :] if len(choice) == 1]
            low, high = max(before, default=0), min(after, default=None)
            candidates = [
                option
                for option in options
                if option.at >= low and (high is None or option.end <= high)
            ]
            if candidates and len(candidates) < len(options):
                choices[index] = candidates
                changed = True


def _refuse_overlap(placed: list[_HunkPosition]) -> None:
    for position, other in pairwise(placed):
        if other.at < position.end:
            first, second = sorted((position.hunk.number, other.hunk.number))
            raise DiffProblem(f"hunks {first} and {second} change the same lines")


def _refuse_repetition(lines: list[str], placed: list[_HunkPosition]) -> None:
    """Refuse an insertion whose lines already follow: it is most likely a repetition."""
    for position in placed:
        # After an insertion, its hunk may fit again, lower by its own length.
        near = (
            range(max(0, position.at - position.hunk.growth), position.at + 1)
            if position.hunk.growth > 0
            else ()
        )
        if not position.already and any(result_stands(lines, position.hunk, at) for at in near):
            raise DiffProblem(
                f"hunk {position.hunk.number} adds lines that are already near line "
                f"{position.at + 1}; to add them once more, give it more context lines"
            )


def _ambiguous(options: list[_HunkPosition]) -> str:
    hunk = options[0].hunk
    line_numbers = ", ".join(str(option.at + 1) for option in options[:5])
    more = f" and {len(options) - 5} more" if len(options) > 5 else ""
    return (
        f"hunk {hunk.number} fits in {len(options)} places, at lines {line_numbers}{more}; "
        "it needs more context lines or the right line number"
    )
