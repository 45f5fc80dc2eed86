"""Whatever a model does to a correct diff: it gives exactly the meant file, or is refused."""

import difflib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from coterie.activities.changes.change import Change
from coterie.activities.changes.diff import parse_diff
from coterie.activities.changes.diff_header import DiffProblem
from coterie.activities.changes.hunk_application import patch
from coterie.activities.tool_functions.asset_manager import apply_set
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionFailure

# Few different lines, some of which differ by one leading or trailing space only, so that
# hunks fit in many places and dropped prefixes are easily misread.
LINES = [
    "",
    "a",
    "b",
    " a",
    "  a",
    "   b",
    "a ",
    "\ta",
    "-a",
    "+b",
    "--- a",
    "@@",
    "\\ a",
    "f(x) {",
]


@dataclass(frozen=True)
class Edited:
    """A file before and after, and the diff between, made dirty."""

    before: str
    after: str
    diff: str


def text(lines: list[str], newline: str, bare: bool) -> str:
    joined = newline.join(lines)
    return joined if bare or not lines else joined + newline


@st.composite
def edited(draw: st.DrawFn) -> Edited:
    old = draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=30))
    new = list(old)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(new)))
        end = draw(st.integers(at, min(at + 3, len(new))))
        new[at:end] = draw(st.lists(st.sampled_from([*LINES, "new"]), max_size=3))
    assume(old != new)
    bare = draw(st.booleans()) and bool(new) and bool(old[-1]) and bool(new[-1])
    # A file of one line without an end does not tell how its lines would end.
    newline = draw(st.sampled_from(["\n", "\r\n"] if len(old) > 1 or not bare else ["\n"]))
    context = draw(st.integers(1, 4))
    diff = list(difflib.unified_diff(old, new, "a/f", "b/f", lineterm="", n=context))
    begin = draw(st.sampled_from([0, 2]))
    dirty = [*diff[:2][begin:], *(draw(dirtied(line)) for line in diff[2:])]
    return Edited(text(old, newline, bare), text(new, newline, bare), "\n".join(dirty) + "\n")


@st.composite
def dirtied(draw: st.DrawFn, line: str) -> str:
    """A line of a diff as a model might write it, without changing what the lines say."""
    if line.startswith("@@ "):
        start = line.split(" ")[1].split(",")[0]
        count = draw(st.integers(1, 9))
        return draw(
            st.sampled_from([line, f"@@ {start},{count} +7,{count} @@ def f", "@@", "@@ ... @@"])
        )
    if line.startswith("+"):
        return line
    if draw(st.integers(0, 3)) == 0:
        line = line.rstrip() or line[0]
    # A dropped prefix in front of a sign would make it a different diff, not a dirty one.
    if (
        line.startswith(" ")
        and not line[1:].startswith(("+", "-", "@", "\\"))
        and draw(st.booleans())
    ):
        return line[1:]
    return line


@given(edited())
@settings(max_examples=600, deadline=None)
def test_a_dirty_diff_gives_exactly_the_meant_file_or_is_refused(case: Edited) -> None:
    try:
        patched = patch(case.before, parse_diff(case.diff, "f").hunks)
    except DiffProblem:
        event("refused")
        return
    event("applied")
    assert patched.text == case.after


@given(edited())
@settings(max_examples=60, deadline=None)
def test_applying_twice_is_applying_once(case: Edited) -> None:
    with TemporaryDirectory() as name:
        workspace = Workspace(Path(name))
        file = workspace.root / "f"
        file.write_bytes(case.before.encode())
        change = Change(file_path="f", type="modify", diff=case.diff)
        try:
            first = apply_set(workspace, [change], key="first")
        except FunctionFailure:
            assert file.read_bytes() == case.before.encode()
            return
        assert first.applied[0].status == "applied"
        assert file.read_bytes() == case.after.encode()
        again = apply_set(workspace, [change], key="again")
        assert again.applied[0].status == "already_applied"
        assert file.read_bytes() == case.after.encode()
