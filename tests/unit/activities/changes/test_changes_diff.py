"""What a diff's text is read as, and which mistakes its hunks survive."""

from pathlib import Path

import pytest

from coterie.activities.changes.diff import parse_diff, parse_new_file
from coterie.activities.changes.diff_header import DiffProblem, names_file
from coterie.activities.changes.file_edits import Edit
from coterie.activities.changes.hunk_application import patch


@pytest.mark.parametrize(
    ("header_path", "file_path", "same"),
    [
        ("a/src/x.py", "src/x.py", True),
        ("src/x.py", "src/x.py", True),
        ("x.py", "src/x.py", True),
        ("/home/me/project/src/x.py", "src/x.py", True),
        ("/dev/null", "src/x.py", True),
        ("a/x.py", "a/x.py", True),
        ("a/a/x.py", "a/x.py", True),
        ("a/src/y.py", "src/x.py", False),
        ("lib/x.py", "src/x.py", False),
    ],
)
def test_a_header_path_names_a_file_whatever_its_prefix(
    header_path: str, file_path: str, same: bool
) -> None:
    assert names_file(header_path, file_path) is same


def test_a_start_number_counts_from_one_and_an_empty_side_names_the_line_before() -> None:
    assert parse_diff("@@ -5,2 +5,3 @@\n a\n+b\n", "f").hunks[0].start == 4
    assert parse_diff("@@ -5,0 +6,1 @@\n+b\n", "f").hunks[0].start == 5
    assert parse_diff("@@\n a\n+b\n", "f").hunks[0].start is None


def test_an_executable_new_file_is_asked_for_by_its_mode_line() -> None:
    head = "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n"
    diff = f"{head}@@ -0,0 +1 @@\n+#!/bin/sh\n"
    assert parse_new_file(diff, "run") == ("#!/bin/sh\n", True)
    assert parse_new_file("+#!/bin/sh\n", "run") == ("#!/bin/sh\n", None)


def test_a_binary_diff_is_refused() -> None:
    with pytest.raises(DiffProblem, match="binary file"):
        parse_diff("diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\n", "x.png")


@pytest.mark.parametrize("diff", ["@@\n+first\n a\n", "@@\n z\n+last\n"])
def test_an_insertion_that_stands_already_and_would_fit_again_is_refused(diff: str) -> None:
    hunks = parse_diff(diff, "f").hunks
    once = patch("a\nz\n", hunks).text
    with pytest.raises(DiffProblem, match="are already near line"):
        patch(once, hunks)


def test_an_insertion_between_two_lines_is_known_to_stand_already() -> None:
    hunks = parse_diff("@@\n a\n+new\n z\n", "f").hunks
    assert patch("a\nnew\nz\n", hunks).already


def test_a_hunk_that_was_applied_before_is_passed_over_and_the_others_are_applied() -> None:
    diff = "@@\n a\n-b\n+B\n c\n@@\n x\n-y\n+Y\n z\n"
    patched = patch("a\nB\nc\n\nx\ny\nz\n", parse_diff(diff, "f").hunks)
    assert patched.text == "a\nB\nc\n\nx\nY\nz\n"
    assert (patched.added, patched.removed, patched.already) == (1, 1, False)


def test_context_keeps_the_whitespace_of_the_file_and_not_of_the_diff() -> None:
    patched = patch("a  \nb\n", parse_diff("@@\n a\n-b\n+B\n", "f").hunks)
    assert patched.text == "a  \nB\n"


def test_an_empty_file_takes_added_lines() -> None:
    assert patch("", parse_diff("@@ -0,0 +1,1 @@\n+a\n", "f").hunks).text == "a\n"


def test_a_file_may_be_emptied() -> None:
    assert patch("a\nb\n", parse_diff("@@ -1,2 +0,0 @@\n-a\n-b\n", "f").hunks).text == ""


def test_lines_end_at_newlines_only() -> None:
    """Form feeds and Unicode separators are characters of a line, as for git."""
    text = "a\x0cb\u2028c\n-\n"
    assert (
        patch(text, parse_diff("@@\n a\x0cb\u2028c\n--\n+x\n", "f").hunks).text
        == "a\x0cb\u2028c\nx\n"
    )


def test_a_file_that_is_not_there_needs_no_mode() -> None:
    assert not Edit("f", Path("no-such-file"), "delete", None, None, executable=True).changes


def test_eight_lines_that_may_be_damaged_are_tried_in_every_way_and_nine_are_not() -> None:
    for lines, unclear in ((8, False), (9, True)):
        items = "".join(f"- item {n}\n" for n in range(lines))
        diff = f"@@ -1,{lines + 1} +1,{lines + 1} @@\n{items}-old\n+new\n"
        if unclear:
            with pytest.raises(DiffProblem, match="can be read in several ways: '- item 0'"):
                patch(f"{items}old\n", parse_diff(diff, "f").hunks)
        else:
            assert patch(f"{items}old\n", parse_diff(diff, "f").hunks).text == f"{items}new\n"
