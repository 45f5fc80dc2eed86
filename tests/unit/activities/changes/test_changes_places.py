"""Where a hunk belongs: its own place, the one that drifted, or none."""

import pytest

from coterie.activities.changes.diff import parse_diff
from coterie.activities.changes.diff_header import DiffProblem
from coterie.activities.changes.hunk_application import Patched, patch


def patched(text: str, diff: str) -> Patched:
    return patch(text, parse_diff(diff, "f").hunks)


def refusal(text: str, diff: str) -> str:
    with pytest.raises(DiffProblem) as caught:
        patched(text, diff)
    return str(caught.value)


TWO = "def f():\n    x = 1\n    return B\n\ndef g():\n    x = 2\n    return b\n"
"""What the hunk wants stands in `f`; `g`, which it is for, has drifted too far."""

FOR_G = " def h():\n     x = 1\n-    return a\n+    return B\n"


def test_hunk_whose_result_stands_elsewhere_is_refused() -> None:
    message = refusal(TWO, f"@@ -5,3 +5,3 @@\n{FOR_G.replace(' def h():', ' def f():')}")
    assert "its result is at line 1, but nothing confirms this place" in message


def test_hunk_whose_result_stands_at_its_number_is_present_already() -> None:
    found = patched(TWO, f"@@ -1,3 +1,3 @@\n{FOR_G.replace(' def h():', ' def f():')}")
    assert (found.text, found.already) == (TWO, True)
    assert (found.hunks_applied, found.hunks_present) == (0, 1)


def test_hunk_that_is_present_already_counts_for_the_numbers_of_those_below() -> None:
    diff = "@@ -1,2 +1,3 @@\n a\n+b\n c\n@@ -9,2 +10,2 @@\n i\n-j\n+J\n"
    below = "d\ne\nf\ng\nh\nx\n"
    for last, applied in (("i\nj\n", 1), ("i\nJ\n", 0)):
        found = patched(f"a\nb\nc\n{below}{last}", diff)
        assert found.text == f"a\nb\nc\n{below}i\nJ\n"
        assert (found.hunks_applied, found.hunks_present) == (applied, 2 - applied)


def test_hunk_that_is_present_already_may_have_moved_with_the_others() -> None:
    diff = "@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -5,2 +5,2 @@\n e\n-f\n+F\n"
    found = patched("new\n\na\nb\nc\nd\ne\nF\n", diff)
    assert (found.hunks_applied, found.hunks_present) == (1, 1)
    assert "its result is at line 7" in refusal("new\n\nA\nb\nc\nd\ne\nF\n", diff)


def test_hunk_without_a_number_is_not_present_where_its_lines_stand_elsewhere_too() -> None:
    message = refusal("a\nB\nc\n\nb\nc\n", "@@\n a\n-b\n+B\n c\n")
    assert "its result is at line 1" in message


def test_hunk_that_fits_elsewhere_while_its_result_stands_at_its_place_is_refused() -> None:
    text = "one\nB\nend\n\n\none\nb\nend\n"
    message = refusal(text, "@@ -1,3 +1,3 @@\n one\n-b\n+B\n end\n")
    assert "fits at line 6, but its result is already at line 1" in message


TWINS = "a\nb\nc\nd\n\na\nb\nc\n"
CHANGE = " a\n-b\n+B\n c\n"


def test_number_decides_between_twins_where_the_whole_header_is_right() -> None:
    for number in (1, 6):
        found = patched(TWINS + "x\n", f"@@ -{number},3 +{number},3 @@\n{CHANGE}")
        assert found.text.split("\n").index("B") == number


@pytest.mark.parametrize(
    "head",
    ["@@ -1,4 +1,3 @@", "@@ -1,3 +1,4 @@", "@@ -1,3 +2,3 @@", "@@ -1 +1 @@"],
    ids=["the old count", "the new count", "the new number", "no counts"],
)
def test_number_decides_nothing_between_twins_where_its_header_is_wrong(head: str) -> None:
    assert "fits in 2 places, at lines 1, 6" in refusal(TWINS + "x\n", f"{head}\n{CHANGE}")


def test_numbers_that_other_hunks_prove_wrong_are_moved_like_theirs() -> None:
    text = "new\n" * 5 + "a\nb\nc\nz\n" + "a\nb\nc\ny\n"
    diff = f"@@ -1,3 +1,3 @@\n{CHANGE}@@ -8 +8 @@\n-y\n+Y\n"
    assert patched(text, diff).text == text.replace("b", "B", 1).replace("y", "Y")
    between = "a\nb\nc\nz\n" + "new\n" * 5 + "a\nb\nc\ny\n"
    assert "fits in 2 places" in refusal(between, diff)


def test_number_decides_nothing_where_missing_context_puts_a_twin_at_the_edge() -> None:
    end = " a\n b\n-c\n+C\n"
    assert "fits in 2 places" in refusal(TWINS, f"@@ -1,3 +1,3 @@\n{end}")
    assert patched(TWINS, f"@@ -6,3 +6,3 @@\n{end}").text == TWINS[:-2] + "C\n"
    begin = "-a\n+A\n b\n c\n"
    assert "fits in 2 places" in refusal(TWINS, f"@@ -6,3 +6,3 @@\n{begin}")
    assert patched(TWINS, f"@@ -1,3 +1,3 @@\n{begin}").text == "A" + TWINS[1:]


def test_marker_of_a_missing_newline_puts_a_hunk_at_the_end() -> None:
    marked = f"@@ -1,3 +1,3 @@\n{CHANGE}\\ No newline at end of file\n"
    assert "fits in 2 places" in refusal(TWINS[:-1], marked)


def test_hunk_that_fits_elsewhere_is_refused_where_a_changed_copy_is_at_its_place() -> None:
    changed = "a\nb\nc!\n\nx\na\nb\nc\nend\n"
    message = refusal(changed, f"@@ -1,3 +1,3 @@\n{CHANGE}")
    assert "fits at line 6, but the diff puts it at line 1, which has similar lines" in message
    at_end = "a\nb\nc\nx\ny\nz\na\nb!\nc\n"
    message = refusal(at_end, "@@\n a\n b\n-c\n+C\n")
    assert "fits at line 1, but the diff puts it at line 7" in message


def test_hunk_that_fits_on_the_other_side_of_a_hunk_is_refused() -> None:
    diff = f"@@ -1 +1 @@\n-y\n+Y\n@@ -5,3 +5,3 @@\n{CHANGE}"
    message = refusal("a\nb\nc\n\nz\ny\n", diff)
    assert (
        "hunk 2 fits at line 1, but the diff and its line numbers put it below hunk 1, which is at "
        "line 6; correct the line numbers"
    ) in message
    diff = f"@@ -1,3 +1,3 @@\n{CHANGE}@@ -5 +5 @@\n-y\n+Y\n"
    message = refusal("y\n\na\nb\nc\n", diff)
    assert (
        "hunk 1 fits at line 3, but the diff and its line numbers put it above hunk 2, which is at "
        "line 1; correct the line numbers"
    ) in message


def test_order_decides_nothing_where_the_hunks_are_out_of_order() -> None:
    text = "x\na\nx\nb\n"
    message = refusal(text, "@@\n-b\n+B\n@@\n-a\n+A\n@@\n-x\n+X\n")
    assert "hunk 3 fits in 2 places, at lines 1, 3" in message
    message = refusal(text, "@@ -9 +9 @@\n-a\n+A\n@@ -4 +4 @@\n-x\n+X\n")
    assert "hunk 2 fits in 2 places, at lines 1, 3" in message


def test_refusal_counts_the_hunks_that_fit_are_present_and_are_refused() -> None:
    diff = "@@\n a\n-b\n+B\n@@\n p\n-q\n+Q\n r\n@@\n z\n-nowhere\n+x\n"
    message = refusal("a\nb\n\np\nQ\nr\n\nz\n", diff)
    assert message.startswith("of 3 hunks 1 can be applied, 1 already present, 1 refused: hunk 3 ")


FILE = """def total(items):
    value = 0
    for item in items:
        value += item
    return value
"""
DRIFT = """ def total(items, tax):
     value = 0
     for item in items:
-        value += item
+        value -= item
     return value
"""
AFTER = FILE.replace("+=", "-=")


@pytest.mark.parametrize("head", ["@@ -1,5 +1,5 @@", "@@"])
def test_drifted_outer_context_is_passed_over_at_a_unique_place(head: str) -> None:
    assert patched(FILE, f"{head}\n{DRIFT}").text == AFTER


def test_drifted_context_keeps_the_lines_of_the_file() -> None:
    assert patched(FILE, f"@@ -1,5 +1,5 @@\n{DRIFT}").text.startswith("def total(items):\n")


INNER = """ def total(items):
-    value = 0
+    value = 1
     for each in items:
-        value += item
+        value -= item
"""
MISFITS = {
    "a removed line differs": (FILE, DRIFT.replace("-        value +=", "-        values +=")),
    "it fits twice": (FILE + FILE, DRIFT),
    "the line that differs stands elsewhere": (FILE + "\ndef total(items, tax):\n", DRIFT),
    "nothing like the line stands there": (FILE.replace("def total(items):", "import os"), DRIFT),
    "its number is that of another place": ("x\n" * 20 + FILE, f"@@ -1,5 +1,5 @@\n{DRIFT}"),
    "a removed line ends in a space": (FILE, DRIFT.replace("+= item\n", "+= item \n")),
    "two lines differ and no number tells": (
        FILE + "x\ny\n",
        DRIFT.replace("value = 0", "value = 1") + " x\n y\n",
    ),
    "one line matches, and its number": ("ab\nvalue\n", "@@ -1,2 +1,2 @@\n aa\n-value\n+x\n"),
    "too little matches": ("a\nvalue\n", " aa\n-value\n+values\n"),
    "context between two changes differs": (FILE, f"@@ -1,4 +1,4 @@\n{INNER}"),
    "three lines on one side differ": (
        "pre 1\npre 2\npre 3\nx\ny\nz\n",
        "@@ -1,6 +1,6 @@\n pre 1a\n pre 2a\n pre 3a\n-x\n+X\n y\n z\n",
    ),
}


@pytest.mark.parametrize(("text", "diff"), MISFITS.values(), ids=MISFITS)
def test_hunk_that_differs_in_more_than_its_outer_context_is_refused(text: str, diff: str) -> None:
    assert "does not fit" in refusal(text, diff if diff.startswith("@@") else f"@@\n{diff}")


LIST = "# List\n\n- a\n+ b\n- c\n"


@pytest.mark.parametrize(
    ("diff", "after"),
    [
        ("@@ -3,3 +3,4 @@\n- a\n+ b\n- c\n+- d\n", LIST + "- d\n"),
        ("@@ -2,3 +2,4 @@\n \n- a\n++ new\n+ b\n", LIST.replace("+ b", "+ new\n+ b")),
    ],
)
def test_counts_tell_context_that_lost_its_space_from_changes(diff: str, after: str) -> None:
    assert patched(LIST, diff).text == after


@pytest.mark.parametrize("head", ["@@", "@@ -3,9 +3,9 @@"])
def test_signed_line_that_reads_two_ways_is_refused_where_counts_do_not_decide(head: str) -> None:
    message = refusal(LIST, f"{head}\n+ b\n - c\n+- d\n")
    assert "hunk 1 can be read in several ways: '+ b' may be an added line" in message


def test_context_line_with_a_plus_is_not_inserted_against_the_counts() -> None:
    message = refusal(LIST, "@@ -4,2 +4,3 @@\n+ b\n - c\n+- d\n")
    assert "hunk 1 can be read in several ways" in message


def test_counts_that_agree_let_a_line_be_added_beside_one_like_it() -> None:
    assert patched(LIST, "@@ -5,1 +5,2 @@\n+ b\n - c\n").text == LIST.replace("- c", " b\n- c")


def test_too_many_lines_that_read_two_ways_are_refused() -> None:
    items = "".join(f"+ {number}\n" for number in range(12))
    assert "can be read in several ways" in refusal(items, f"@@\n{items}+x\n")


def test_change_inside_a_file_leaves_the_newline_at_its_end_alone() -> None:
    inside = "@@\n-a\n+A\n\\ No newline at end of file\n b\n"
    assert patched("a\nb\nc\n", inside).text == "A\nb\nc\n"
    assert patched("a\nb\nc", "@@\n-a\n+A\n b\n").text == "A\nb\nc"


def test_change_at_the_end_keeps_a_missing_newline_missing_unless_the_diff_says_so() -> None:
    assert patched("a\nb", "@@\n a\n-b\n+B\n").text == "a\nB"
    marked = "@@\n a\n-b\n\\ No newline at end of file\n+B\n"
    assert patched("a\nb", marked).text == "a\nB\n"


def test_order_of_hunks_decides_also_where_one_begins_at_the_end_of_another() -> None:
    text = "x\nx\na\nx\nb\nx\n"
    diff = "@@\n-a\n+A\n@@\n-x\n+X\n@@\n-b\n+B\n"
    assert patched(text, diff).text == "x\nx\nA\nX\nB\nx\n"


def test_order_of_hunks_decides_before_the_first_and_after_the_last() -> None:
    assert patched("x\na\nx\n", "@@\n-x\n+X\n@@\n-a\n+A\n").text == "X\nA\nx\n"
    assert patched("x\na\nx\n", "@@\n-a\n+A\n@@\n-x\n+X\n").text == "x\nA\nX\n"


def test_nearest_neighbour_bounds_where_a_hunk_can_be() -> None:
    assert patched("a\nx\nb\nx\n", "@@\n-a\n+A\n@@\n-b\n+B\n@@\n-x\n+X\n").text == "A\nx\nB\nX\n"
    assert patched("x\na\nx\nb\n", "@@\n-x\n+X\n@@\n-a\n+A\n@@\n-b\n+B\n").text == "X\nA\nx\nB\n"


def test_hunk_that_fits_nowhere_between_its_neighbours_is_ambiguous() -> None:
    message = refusal("x\nx\na\nb\n", "@@\n-a\n+A\n@@\n-x\n+X\n@@\n-b\n+B\n")
    assert "hunk 2 fits in 2 places, at lines 1, 2" in message


@pytest.mark.parametrize(
    ("places", "shown"),
    [
        (2, "fits in 2 places, at lines 1, 2;"),
        (5, "fits in 5 places, at lines 1, 2, 3, 4, 5;"),
        (6, "fits in 6 places, at lines 1, 2, 3, 4, 5 and 1 more;"),
    ],
)
def test_an_ambiguous_hunk_is_reported_with_its_first_five_places(places: int, shown: str) -> None:
    assert shown in refusal("x\n" * places, "@@\n-x\n+X\n")


def test_lines_that_look_like_a_header_belong_to_their_hunk_unless_an_at_line_follows() -> None:
    diff = "@@ -1,3 +1,3 @@\n a\n--- old\n+++ new\n z\n@@ -9 +9 @@\n-q\n+Q\n"
    text = "a\n-- old\nz\n" + "\n" * 5 + "q\n"
    assert patched(text, diff).text == text.replace("-- old", "++ new").replace("q", "Q")
    with pytest.raises(DiffProblem, match=r"continues with a second file \(b/other.py\)"):
        parse_diff("@@\n-a\n+b\n--- a/f\n+++ b/other.py\n@@\n-a\n+b\n", "f")
