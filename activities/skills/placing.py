"""Find where the hunks of a diff belong in a text, and put them there.

A hunk is placed by its lines. Where they occur more than once, the @@ number decides if it is
exactly right for one of the places, then the order of the hunks; if neither decides, the hunk
is refused: to change the wrong place is worse than to ask again. Pure text.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from activities.skills.diff import Hunk, HunkLine
from activities.skills.diff_header import DiffProblem

_LONG = 20_000
"""Lines in which a similar one is looked for; more would take seconds."""


@dataclass(frozen=True, slots=True)
class Patched:
    """A text after a diff."""

    text: str
    added: int
    """Lines."""
    removed: int
    already: bool
    """Every hunk's new lines were there before."""


@dataclass(frozen=True, slots=True)
class _Placed:
    hunk: Hunk
    at: int
    """Index of the first line that it covers."""
    already: bool = False

    @property
    def end(self) -> int:
        return self.at + len(self.hunk.new if self.already else self.hunk.old)


def patch(text: str, hunks: tuple[Hunk, ...]) -> Patched:
    """Apply all hunks to a text, or none.

    Line ends, a missing newline at the end and a byte order mark stay as they are.

    Raises:
        DiffProblem: with the number of each hunk that has no place, or several.
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
    placed = _place(lines, hunks)
    result = _weave(list(zip(lines, ends, strict=True)), placed, newline)
    for one in placed:
        if one.end == len(lines) and one.hunk.ends_bare is not None:
            bare = one.hunk.ends_bare
    if bare and result:
        result[-1] = (result[-1][0], "")
    new = mark + "".join(line + end for line, end in result)
    work = [one.hunk for one in placed if not one.already] if new != text else []
    return Patched(
        text=new,
        added=sum(line.op == "+" for hunk in work for line in hunk.lines),
        removed=sum(line.op == "-" for hunk in work for line in hunk.lines),
        already=new == text,
    )


def _weave(
    lines: list[tuple[str, str]], placed: list[_Placed], newline: str
) -> list[tuple[str, str]]:
    """The new lines with their ends; kept lines keep theirs, whatever the diff's whitespace."""
    result: list[tuple[str, str]] = []
    at = 0
    for one in placed:
        if one.already:
            continue
        result += lines[at : one.at]
        at = one.at
        for line in one.hunk.lines:
            if line.op == "+":
                result.append((line.text, newline))
            else:
                if line.op == " ":
                    result.append(lines[at])
                at += 1
    return result + lines[at:]


def _place(lines: list[str], hunks: tuple[Hunk, ...]) -> list[_Placed]:
    """Every hunk with its one place, in the order of the text."""
    choices: list[list[_Placed]] = []
    problems: list[str] = []
    for hunk in hunks:
        found = [_Placed(hunk, at) for at in _matches(lines, hunk.old)]
        found = found or [_Placed(hunk, at, already=True) for at in _present(lines, hunk)]
        if not found:
            problems.append(f"hunk {hunk.number} does not fit: {_first_missing(lines, hunk)}")
        exact = [one for one in found if one.at == hunk.start]
        choices.append(exact or found)
    if problems:
        raise DiffProblem("; ".join(problems))
    _decide_by_order(choices)
    for options in choices:
        if len(options) > 1:
            problems.append(_ambiguous(options))
    if problems:
        raise DiffProblem("; ".join(problems))
    placed = sorted((options[0] for options in choices), key=lambda one: (one.at, one.end))
    _refuse_overlap(placed)
    _refuse_repetition(lines, placed)
    return placed


def _matches(lines: list[str], wanted: tuple[HunkLine, ...]) -> list[int]:
    """Indices at which all wanted lines follow one another."""
    if not wanted:
        return [] if lines else [0]
    firsts = range(len(lines) - len(wanted) + 1)
    return [
        at
        for at in firsts
        if all(want.is_like(lines[at + offset]) for offset, want in enumerate(wanted))
    ]


def _present(lines: list[str], hunk: Hunk) -> list[int]:
    """Where the hunk's result stands already; to be sure, it needs both added and context lines."""
    if not {" ", "+"} <= {line.op for line in hunk.lines if line.text.strip()}:
        return []
    return [at for at in _matches(lines, hunk.new) if _added_stand(lines, hunk, at)]


def _added_stand(lines: list[str], hunk: Hunk, at: int) -> bool:
    """Are the added lines there to the letter? Context may differ in trailing whitespace."""
    new = hunk.new
    return at + len(new) <= len(lines) and all(
        lines[at + offset] == line.text if line.op == "+" else line.is_like(lines[at + offset])
        for offset, line in enumerate(new)
    )


def _decide_by_order(choices: list[list[_Placed]]) -> None:
    """Keep of each hunk's places those between its neighbours that have one place only."""
    changed = True
    while changed:
        changed = False
        for index, options in enumerate(choices):
            if len(options) == 1:
                continue
            before = [one[0].end for one in choices[:index] if len(one) == 1]
            after = [one[0].at for one in choices[index + 1 :] if len(one) == 1]
            low, high = max(before, default=0), min(after, default=None)
            kept = [one for one in options if one.at >= low and (high is None or one.end <= high)]
            if kept and len(kept) < len(options):
                choices[index] = kept
                changed = True


def _refuse_overlap(placed: list[_Placed]) -> None:
    for one, other in pairwise(placed):
        if other.at < one.end:
            first, second = sorted((one.hunk.number, other.hunk.number))
            raise DiffProblem(f"hunks {first} and {second} change the same lines")


def _refuse_repetition(lines: list[str], placed: list[_Placed]) -> None:
    """An insertion whose lines already stand just there is most likely the second of its kind."""
    for one in placed:
        # After an insertion its hunk may fit again, as much lower as it is long.
        longer = len(one.hunk.new) - len(one.hunk.old)
        near = range(max(0, one.at - longer), one.at + 1) if longer > 0 else ()
        if not one.already and any(_added_stand(lines, one.hunk, at) for at in near):
            raise DiffProblem(
                f"hunk {one.hunk.number} adds lines that already stand near line {one.at + 1}; "
                "if they shall stand there once more, it needs more context lines around them"
            )


def _ambiguous(options: list[_Placed]) -> str:
    hunk = options[0].hunk
    shown = ", ".join(str(one.at + 1) for one in options[:5])
    more = f" and {len(options) - 5} more" if len(options) > 5 else ""
    return (
        f"hunk {hunk.number} fits in {len(options)} places, at lines {shown}{more}; "
        "it needs more context lines or the right line number"
    )


def _first_missing(lines: list[str], hunk: Hunk) -> str:
    """Which line of the hunk breaks it, and what the text has instead."""
    if not hunk.old:
        return "it has only added lines, so nothing says where they belong"
    if not lines:
        return "the file is empty"
    for wanted in hunk.old:
        if not any(wanted.is_like(line) for line in lines):
            near = get_close_matches(wanted.text, lines[:_LONG], n=1, cutoff=0.5)
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
    """Where the most of the wanted lines follow one another from the first, and how many."""
    best = (0, 0)
    for at in range(len(lines)):
        fitting = 0
        while (
            fitting < len(wanted)
            and at + fitting < len(lines)
            and wanted[fitting].is_like(lines[at + fitting])
        ):
            fitting += 1
        if fitting > best[1]:
            best = (at, fitting)
    return best
