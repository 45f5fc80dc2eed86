"""Diffs of real changes as models damage them, or for files that have changed since.

Each damage takes a change and gives the file as it is found, the diff, and the file that is
meant; None for the file where any application would be wrong.
"""

import difflib
from collections.abc import Callable
from functools import cache
from random import Random
from typing import NamedTuple

from tests.support.changes.real_changes import RealChange


class Damaged(NamedTuple):
    """A diff and the file that it meets."""

    file: str
    diff: str
    meant: str | None
    """The file afterwards; None where the diff has to be refused."""


Hunks = list[list[str]]
"""Each hunk begins with its @@ line."""

Damage = Callable[[RealChange, Random], Damaged | None]
"""None where the change has nothing that could be damaged so."""


def hunks_of(before: str, after: str, context: int = 3) -> Hunks:
    found: Hunks = []
    for line in _unified(before, after, context)[2:]:
        if line.startswith("@@"):
            found.append([])
        found[-1].append(line)
    return found


@cache  # each damage begins with the same diffs
def _unified(before: str, after: str, context: int) -> tuple[str, ...]:
    old, new = before.split("\n")[:-1], after.split("\n")[:-1]
    return tuple(difflib.unified_diff(old, new, lineterm="", n=context))


def text_of(hunks: Hunks, header: bool = True) -> str:
    head = ["--- a/f", "+++ b/f"] if header else []
    return "\n".join([*head, *(line for hunk in hunks for line in hunk)]) + "\n"


def numbers_of(head: str) -> tuple[int, int, int, int]:
    old, new = (part[1:].split(",") for part in head.split(" ")[1:3])
    return int(old[0]), int((*old, "1")[1]), int(new[0]), int((*new, "1")[1])


def _of(change: RealChange, hunks: Hunks, *, header: bool = True) -> Damaged:
    return Damaged(change.before, text_of(hunks, header), change.after)


def _each_line(change: RealChange, damage: Callable[[str], str]) -> Damaged:
    hunks = hunks_of(change.before, change.after)
    return _of(change, [[hunk[0], *map(damage, hunk[1:])] for hunk in hunks])


def clean(change: RealChange, chance: Random) -> Damaged:
    return _of(change, hunks_of(change.before, change.after))


def wrong_starts(change: RealChange, chance: Random) -> Damaged:
    hunks = hunks_of(change.before, change.after)
    for hunk in hunks:
        a, b, c, d = numbers_of(hunk[0])
        by = chance.choice([-40, -7, -1, 1, 2, 15, 120])
        hunk[0] = f"@@ -{max(1, a + by)},{b} +{max(1, c + by)},{d} @@"
    return _of(change, hunks)


def wrong_counts(change: RealChange, chance: Random) -> Damaged:
    hunks = hunks_of(change.before, change.after)
    for hunk in hunks:
        a, _, c, _ = numbers_of(hunk[0])
        hunk[0] = f"@@ -{a},{chance.randint(1, 12)} +{c},{chance.randint(1, 12)} @@"
    return _of(change, hunks)


def no_numbers(change: RealChange, chance: Random) -> Damaged:
    hunks = hunks_of(change.before, change.after)
    return _of(change, [[chance.choice(["@@", "@@ ... @@"]), *hunk[1:]] for hunk in hunks])


def no_file_header(change: RealChange, chance: Random) -> Damaged:
    return _of(change, hunks_of(change.before, change.after), header=False)


def fence_and_talk(change: RealChange, chance: Random) -> Damaged:
    diff = text_of(hunks_of(change.before, change.after))
    return Damaged(change.before, f"```diff\n{diff}```\n\nThis does it.\n", change.after)


def diff_with_crlf(change: RealChange, chance: Random) -> Damaged:
    diff = text_of(hunks_of(change.before, change.after)).replace("\n", "\r\n")
    return Damaged(change.before, diff, change.after)


def file_with_crlf(change: RealChange, chance: Random) -> Damaged:
    file, meant = (text.replace("\n", "\r\n") for text in (change.before, change.after))
    return Damaged(file, text_of(hunks_of(change.before, change.after)), meant)


def all_context_without_space(change: RealChange, chance: Random) -> Damaged:
    """Also of context that begins with a sign, which then reads as a change."""
    return _each_line(change, lambda line: line[1:] if line.startswith(" ") else line)


def some_context_without_space(change: RealChange, chance: Random) -> Damaged:
    def damage(line: str) -> str:
        return line[1:] if line.startswith(" ") and chance.random() < 0.4 else line

    return _each_line(change, damage)


def signed_context_without_space(change: RealChange, chance: Random) -> Damaged | None:
    """Only context that begins with a sign; the file is given such lines where it has none."""
    sign = chance.choice("+-")
    hunks = hunks_of(change.before, change.after)
    candidates = [line for hunk in hunks for line in hunk[1:] if line[:1] == " " and line.strip()]
    if not candidates:
        return None
    picked = chance.choice(candidates)[1:]
    # The same line becomes an item of a list wherever it stands.
    file, meant = (
        "\n".join(f"{sign} {line}" if line == picked else line for line in text.split("\n"))
        for text in (change.before, change.after)
    )
    hunks = [
        [hunk[0], *(line[1:] if line == f" {sign} {picked}" else line for line in hunk[1:])]
        for hunk in hunks_of(file, meant)
    ]
    return Damaged(file, text_of(hunks), meant)


def trailing_whitespace(change: RealChange, chance: Random) -> Damaged:
    def damage(line: str) -> str:
        return line + chance.choice(["", " ", "\t"]) if line.startswith(" ") else line

    return _each_line(change, damage)


def bare_blank_lines(change: RealChange, chance: Random) -> Damaged:
    return _each_line(change, lambda line: line.rstrip() if line.startswith(" ") else line)


def one_line_of_context(change: RealChange, chance: Random) -> Damaged:
    return _of(change, hunks_of(change.before, change.after, 1))


def no_context_and_no_numbers(change: RealChange, chance: Random) -> Damaged:
    hunks = hunks_of(change.before, change.after, 0)
    return _of(change, [["@@", *hunk[1:]] for hunk in hunks])


def hunks_in_another_order(change: RealChange, chance: Random) -> Damaged:
    return _of(change, hunks_of(change.before, change.after)[::-1])


def lines_added_above(change: RealChange, chance: Random) -> Damaged:
    """Somebody else made the file longer since, so all numbers are wrong by as much."""
    more = "".join(f"# added since: {number}\n" for number in range(chance.randint(1, 30)))
    return Damaged(more + change.before, clean(change, chance).diff, more + change.after)


def drifted_line(line: str, chance: Random) -> str:
    """A line as it is misquoted, or as somebody has changed it since."""
    words = line.split(" ")
    at = chance.choice([at for at, word in enumerate(words) if word])
    words[at] = chance.choice([words[at] + "_x", "new " + words[at], words[at][:-1] or "y"])
    return " ".join(words)


def _drift(change: RealChange, chance: Random, where: Callable[[int, int], bool]) -> Damaged | None:
    """Misquote a context line of the diff: `where(distance to a change, of the farthest)`."""
    hunks = hunks_of(change.before, change.after)
    hunk = chance.choice(hunks)
    changed = [at for at, line in enumerate(hunk) if line[0] in "+-"]
    outer = [*range(1, changed[0]), *range(changed[-1] + 1, len(hunk))]
    far = {
        at: changed[0] - at if at < changed[0] else at - changed[-1]
        for at in outer
        if hunk[at].strip()
    }
    candidates = [at for at, distance in far.items() if where(distance, max(far.values()))]
    if not candidates:
        return None
    at = chance.choice(candidates)
    hunk[at] = " " + drifted_line(hunk[at][1:], chance)
    return _of(change, hunks)


def outermost_context_drifted(change: RealChange, chance: Random) -> Damaged | None:
    return _drift(change, chance, lambda distance, farthest: distance == farthest)


def nearest_context_drifted(change: RealChange, chance: Random) -> Damaged | None:
    return _drift(change, chance, lambda distance, farthest: distance == 1)


def context_drifted_without_numbers(change: RealChange, chance: Random) -> Damaged | None:
    made = _drift(change, chance, lambda distance, farthest: True)
    if made is None:
        return None
    diff = "\n".join("@@" if line[:2] == "@@" else line for line in made.diff.split("\n"))
    return made._replace(diff=diff)


def removed_line_drifted(change: RealChange, chance: Random) -> Damaged | None:
    """The diff removes what the file has not: to apply it anywhere is wrong."""
    hunks = hunks_of(change.before, change.after)
    removed = [
        (number, at)
        for number, hunk in enumerate(hunks)
        for at, line in enumerate(hunk)
        if line[0] == "-" and line[1:].strip()
    ]
    if not removed:
        return None
    number, at = chance.choice(removed)
    drifted = drifted_line(hunks[number][at][1:], chance)
    hunks[number][at] = "-" + drifted
    if drifted in change.before.split("\n"):
        return None
    return Damaged(change.before, text_of(hunks), None)


def one_hunk_present_already(change: RealChange, chance: Random) -> Damaged:
    """The first hunk was applied before, by somebody else."""
    hunks = hunks_of(change.before, change.after)
    old, count, new, made = numbers_of(hunks[0][0])
    begin = old - (0 if count == 0 else 1)
    lines = change.before.split("\n")
    meant = change.after.split("\n")
    lines[begin : begin + count] = meant[new - (0 if made == 0 else 1) :][:made]
    return Damaged("\n".join(lines), text_of(hunks), change.after)


def _result_elsewhere(change: RealChange, chance: Random) -> tuple[str, str, Hunks]:
    """The file and what is meant, with the result of the first hunk standing below it too."""
    hunks = hunks_of(change.before, change.after)
    twin = [line[1:] for line in hunks[0][1:] if line[0] in " +"]
    below = "\n".join(["# a twin", *twin, "# its end", ""])
    return change.before + below, change.after + below, hunks


def result_elsewhere_and_place_drifted(change: RealChange, chance: Random) -> Damaged | None:
    """What the hunk wants stands below already; at its own place the file has changed."""
    file, meant, hunks = _result_elsewhere(change, chance)
    old = numbers_of(hunks[0][0])[0]
    there = [line for line in hunks[0][1:] if line[0] != "+"]
    context = [at for at, line in enumerate(there) if line[0] == " " and line.strip()]
    if not context or not any(line[0] == "+" and line[1:].strip() for line in hunks[0]):
        return None
    lines, at = file.split("\n"), old - 1 + chance.choice(context)
    drifted = drifted_line(lines[at], chance)
    meant_lines = meant.split("\n")
    places = [n for n, line in enumerate(meant_lines) if line == lines[at]]
    if len(places) != 2:
        return None
    meant_lines[places[0]] = lines[at] = drifted
    return Damaged("\n".join(lines), text_of(hunks), "\n".join(meant_lines))


def place_gone_and_twin_left(change: RealChange, chance: Random) -> Damaged | None:
    """A twin differs in its first line; what the hunk is for has been deleted since."""
    hunks = hunks_of(change.before, change.after)[:1]
    hunk = hunks[0]
    if hunk[1][0] != " " or not hunk[1].strip() or not any(line[0] == "-" for line in hunk):
        return None
    old, count, _, _ = numbers_of(hunk[0])
    lines = change.before.split("\n")
    twin = [drifted_line(hunk[1][1:], chance), *lines[old : old - 1 + count]]
    file = [*lines[: old - 1], *lines[old - 1 + count : -1], "# a twin", *twin, ""]
    return Damaged("\n".join(file), text_of(hunks), None)


DAMAGES: dict[str, Damage] = {
    made.__name__: made
    for made in (
        clean,
        wrong_starts,
        wrong_counts,
        no_numbers,
        no_file_header,
        fence_and_talk,
        diff_with_crlf,
        file_with_crlf,
        all_context_without_space,
        some_context_without_space,
        signed_context_without_space,
        trailing_whitespace,
        bare_blank_lines,
        one_line_of_context,
        no_context_and_no_numbers,
        hunks_in_another_order,
        lines_added_above,
        outermost_context_drifted,
        nearest_context_drifted,
        context_drifted_without_numbers,
        removed_line_drifted,
        one_hunk_present_already,
        result_elsewhere_and_place_drifted,
        place_gone_and_twin_left,
    )
}
