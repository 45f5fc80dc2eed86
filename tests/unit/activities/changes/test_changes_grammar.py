"""The forms of change blocks, headers and fences, each with what it is read as, whole."""

import pytest

from coterie.activities.changes.change import Change
from coterie.activities.changes.change_blocks import ParsedBlocks, has_blocks, parse_blocks
from coterie.activities.changes.diff import (
    HunkLine,
    UnclosedFence,
    parse_diff,
    parse_new_file,
    unfenced,
    unfenced_diff,
)
from coterie.activities.changes.diff_header import DiffHeader, DiffProblem, names_file, read_header
from coterie.activities.changes.hunk_application import first_missing

BLOCKS = """Some prose.
===CHANGE_BEGIN===
FILE: `src/a.py`
TYPE: Modify
DESCRIPTION: one
line

DIFF:
@@
-a
+b

===CHANGE_END===
Prose between.
===CHANGE_BEGIN===
**FILE:** b.txt
```
TYPE: create
CONTENT: first
second

===CHANGE_END===
===CHANGE_BEGIN===
FILE: c.txt
TYPE: delete
===CHANGE_END===
"""


def test_every_block_of_an_answer_is_read_with_its_name() -> None:
    assert parse_blocks(BLOCKS) == ParsedBlocks(
        changes=[
            (
                "block 1 (`src/a.py`)",
                Change(
                    file_path="src/a.py",
                    type="modify",
                    description="one line",
                    diff="@@\n-a\n+b\n",
                ),
            ),
            (
                "block 2 (b.txt)",
                Change(file_path="b.txt", type="create", content="first\nsecond\n"),
            ),
            ("block 3 (c.txt)", Change(file_path="c.txt", type="delete")),
        ]
    )


@pytest.mark.parametrize(
    ("lines", "problems"),
    [
        (
            "FILE: a\nTYPE: delete",
            ["block 1 (a) has no ===CHANGE_END===: the answer was cut off, or the line is lost"],
        ),
        (
            "===CHANGE_END===",
            [],
        ),
        ("TYPE: modify\nCONTENT:\nx\n===CHANGE_END===", ["block 1 (line 1) has no FILE"]),
        ("FILE: a\nTYPE: \n===CHANGE_END===", ["block 1 (a) has no TYPE; has no DIFF"]),
        ("FILE: a\nTYPE: create\n===CHANGE_END===", ["block 1 (a) has no DIFF"]),
        (
            "FILE: a\nFILE: b\nTYPE: delete\n===CHANGE_END===",
            ["block 1 (a) has FILE twice"],
        ),
        (
            "FILE: a\nnoise\n\nTYPE: delete\n===CHANGE_END===",
            ["block 1 (a) has a line that belongs to no field: 'noise'"],
        ),
        (
            "FILE: a\nTYPE: delete\n===CHANGE_END===\n\n===CHANGE_END===",
            [
                "line 6 has an ===CHANGE_END=== without a ===CHANGE_BEGIN===: the block before it "
                "may have ended too early, at a marker that is part of its text"
            ],
        ),
        (
            "FILE: a\nTYPE: create\nCONTENT:\n```\nx\n===CHANGE_END===",
            [
                "block 1 (a): the content starts with a code fence that is never closed, so it may "
                "be cut off; close the fence, or leave it out"
            ],
        ),
    ],
)
def test_a_block_that_cannot_be_read_is_a_problem_with_its_name(
    lines: str, problems: list[str]
) -> None:
    found = parse_blocks(f"===CHANGE_BEGIN===\n{lines}\n")
    if not problems:
        problems = ["block 1 (line 1) has no FILE; has no TYPE; has no DIFF"]
    assert found.problems == problems


def test_a_change_that_breaks_a_rule_is_a_problem_of_its_block() -> None:
    found = parse_blocks("===CHANGE_BEGIN===\nFILE: a\nTYPE: rename\nDIFF:\n@@\n===CHANGE_END===")
    assert not found.changes
    assert [one.startswith("block 1 (a): type: ") for one in found.problems] == [True]


def test_a_marker_counts_only_at_the_start_of_a_line() -> None:
    assert has_blocks("x\n===CHANGE_BEGIN===  \n")
    assert not has_blocks(" ===CHANGE_BEGIN===\n+===CHANGE_BEGIN===")


@pytest.mark.parametrize(
    ("path", "file", "same"),
    [
        ("a", "a", True),
        ("b", "x/b", True),
        ("a", "x", False),
        ("a/x", "y/x", True),
        ("a/b/x", "c/x", False),
        ("a/b/x.py", "b/x.py", True),
        ("b/a/x.py", "a/x.py", True),
        ("/", "x", False),
        ("src/x.py", "other/src/x.py", True),
        ("c/src/x.py", "d/src/x.py", False),
    ],
)
def test_a_path_of_a_header_names_a_file_by_its_end(path: str, file: str, same: bool) -> None:
    assert names_file(path, file) is same


HUNK = ["@@ -1 +1 @@", "-a", "+b"]


@pytest.mark.parametrize(
    ("lines", "header"),
    [
        ([], DiffHeader(False, False, False, None)),
        (["--- a/f", "+++ b/f"], DiffHeader(True, False, False, None)),
        (["--- /dev/null", "+++ b/f"], DiffHeader(True, True, False, None)),
        (["--- a/f\t2026-01-01", "+++ /dev/null"], DiffHeader(True, False, True, None)),
        (["Here is the diff:", "", "--- f", "+++ f"], DiffHeader(True, False, False, None)),
        (["old mode 100644", "new mode 100755"], DiffHeader(True, False, False, True)),
        (["index 1a2b..3c4d 100644"], DiffHeader(True, False, False, None)),
        (["new file mode 100644", ""], DiffHeader(True, False, False, False)),
        (["diff --git a/f b/f", "index 1a2b..3c4d 100644"], DiffHeader(True, False, False, None)),
    ],
)
def test_a_header_ends_where_the_hunks_begin(lines: list[str], header: DiffHeader) -> None:
    assert read_header([*lines, *HUNK], "f") == (header, HUNK)
    assert read_header(lines if header.present and "Here" not in lines[0] else [], "f")[1] == []


def test_prose_before_a_header_is_skipped_only_where_a_hunk_follows_it() -> None:
    for body in (
        ["--- f"],
        ["prose", "--- f", "+++ f"],
        ["prose", "--- f", "+++ f", "x", "@@"],
        ["+a", "--- f"],
    ):
        assert read_header(body, "f") == (DiffHeader(False, False, False, None), body)
    assert read_header(["prose", "--- f", "+++ f", "@@", "-a"], "f")[1] == ["@@", "-a"]
    changed = ["+a", "--- f", "+++ f", *HUNK]
    assert read_header(changed, "f")[1] == changed


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (["--- a/g", "+++ b/f"], "the diff is for another file, 'a/g'"),
        (["rename from g"], "the diff renames a file"),
        (["copy from g"], "the diff copies a file"),
        (["GIT binary patch"], "the diff is for a binary file"),
    ],
)
def test_a_header_for_something_else_is_refused(head: list[str], message: str) -> None:
    with pytest.raises(DiffProblem) as refused:
        read_header([*head, *HUNK], "f")
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\na", ["a"]),
        ("\ufeff\n \na\r\nb\n\n", ["a", "b"]),
        ("```\n```", []),
        ("```python\na\n```\n", ["a"]),
        ("```\na\n```\nb\n", ["```", "a", "```", "b"]),
        ("````md\n```\na\n```\n````", ["```", "a", "```"]),
        ("```md\n```py\na\n```\nb\n```", ["```py", "a", "```", "b"]),
        ("~~~\na\n~~~", ["a"]),
        ("~~~\n```\na\n~~~", ["```", "a"]),
        ("```\n~~~\na\n```", ["~~~", "a"]),
        ("````\na\n```", None),
        ("```\na", None),
    ],
)
def test_a_fence_around_a_whole_text_is_stripped(text: str, lines: list[str] | None) -> None:
    if lines is None:
        with pytest.raises(UnclosedFence):
            unfenced(text)
    else:
        assert unfenced(text) == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("```diff\n@@\n+a\n```", ["@@", "+a"]),
        ("```diff\n@@\n+a\n```\nI hope\nit helps.", ["@@", "+a"]),
        ("```diff\n@@\n+a", ["@@", "+a"]),
        ("```diff\n@@\n```\n+a", ["@@", "```", "+a"]),
        ("```\n```", []),
        ("@@\n+a\n```", ["@@", "+a", "```"]),
    ],
)
def test_a_fence_around_a_diff_is_stripped_with_the_prose_after_it(
    text: str, lines: list[str]
) -> None:
    assert unfenced_diff(text) == lines


@pytest.mark.parametrize(
    ("text", "content", "executable"),
    [
        ("plain\n\n", "plain\n", None),
        ("+a\n\n+b\n\\ No newline at end of file\n", "a\n\nb", None),
        ("@@ -0,0 +1 @@\n", "", None),
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n", "a\n", None),
        ("old mode 100644\nnew mode 100755\n+a\n", "a\n", True),
    ],
)
def test_a_new_file_is_read_from_a_diff_or_as_it_is(
    text: str, content: str, executable: bool | None
) -> None:
    assert parse_new_file(text, "f") == (content, executable)


def test_a_new_file_with_other_lines_is_refused() -> None:
    with pytest.raises(DiffProblem, match=r"every line must start with \+, but one is 'b'"):
        parse_new_file("+a\nb\n", "f")


def test_each_part_of_a_diff_is_a_hunk_with_its_number() -> None:
    hunks = parse_diff("-a\n+b\n\n@@ -5,2 +5,2 @@ def\n c\n-d\n+e\n\n@@\n@@\n+f\n", "f").hunks
    assert [(one.number, one.start, one.new_start, one.counts, one.trimmed) for one in hunks] == [
        (1, None, None, None, 1),
        (2, 4, 4, (2, 2), 1),
        (3, None, None, None, 0),
    ]
    assert hunks[0].lines == (HunkLine("-", "a"), HunkLine("+", "b"))


def test_a_second_file_in_a_diff_is_refused() -> None:
    with pytest.raises(DiffProblem, match="continues with a second file"):
        parse_diff("--- f\n+++ f\n@@\n-a\n+b\n--- g\n+++ g\n@@\n-c\n+d\n", "f")
    text = "@@\n a\n--- x\n+++ y\n"
    assert [line.written for line in parse_diff(text, "f").hunks[0].lines][1:] == ["--- x", "+++ y"]


@pytest.mark.parametrize(
    ("lines", "hunk", "message"),
    [
        (["a"], "+b", "it has only added lines, so its place is unknown"),
        ([], " a\n+b", "the file is empty"),
        (["abc", "abd"], "-abx", "the file has no line 'abx'; the nearest is line 2, 'abd'"),
        (["first", "zzz"], "-abx", "the file has no line 'abx'"),
        (["a", "b"], " b\n-a", "after its last line, 'b', the file has no 'a'"),
        (
            ["a", "x", "a", "b", "c"],
            " a\n b\n-x",
            "after 'b' in line 4 the file has no 'x' but 'c'",
        ),
        (["a", "x", "a", "y"], " a\n-a", "after 'a' in line 1 the file has no 'a' but 'x'"),
        (["b", "a", "c"], " a\n-b", "after 'a' in line 2 the file has no 'b' but 'c'"),
    ],
)
def test_the_first_line_that_does_not_match_is_named(
    lines: list[str], hunk: str, message: str
) -> None:
    (one,) = parse_diff(f"@@\n{hunk}\n", "f").hunks
    assert first_missing(lines, one) == message
