"""What the numbers, the order and the shape of hunks prove about their places."""

import pytest

from coterie.activities.changes.diff import Hunk, HunkLine
from coterie.activities.changes.hunk_evidence import (
    ExactPositions,
    contradiction,
    expected_positions,
    is_in_order,
    proven_position,
)


def hunk(
    number: int,
    shape: str = " a|-b|+B| c",
    start: int | None = None,
    new_start: int | None = None,
    trimmed: int = 0,
) -> Hunk:
    """A hunk of lines like `-text`, whose counts are right."""
    lines = tuple(HunkLine(line[0], line[1:]) for line in shape.split("|"))  # pyright: ignore[reportArgumentType]
    made = Hunk(number, lines, start, start if new_start is None else new_start, None, trimmed)
    old = len(made.old) + made.trimmed
    return Hunk(
        number,
        lines,
        made.start,
        made.new_start,
        (old, len(made.new) + made.trimmed),
        made.trimmed,
    )


GROWS = " a|+n"
"""A hunk by which the file grows by a line."""


@pytest.mark.parametrize(
    ("start", "new_start", "others", "expected"),
    [
        (None, 4, {}, []),
        (4, 4, {}, [4]),
        (4, 5, {}, [4, 5]),
        (4, 4, {2: (10, [13])}, [4, 7]),
        (4, 4, {2: (10, [8])}, [4, 2]),
        (4, 4, {2: (10, [13, 20])}, [4]),
        (4, 4, {2: (None, [13])}, [4]),
    ],
)
def test_a_hunk_is_expected_where_it_says_or_shifted_like_its_neighbours(
    start: int | None,
    new_start: int,
    others: dict[int, tuple[int | None, list[int]]],
    expected: list[int],
) -> None:
    one = hunk(1, start=start, new_start=new_start)
    hunks = [one, *(hunk(number, start=at) for number, (at, _) in others.items())]
    exact: ExactPositions = {1: [], **{number: places for number, (_, places) in others.items()}}
    assert expected_positions(one, hunks, exact) == expected


def test_a_hunk_without_a_new_number_is_expected_nowhere() -> None:
    lines = (HunkLine(" ", "a"),)
    assert expected_positions(Hunk(1, lines, 4, None), [], {1: []}) == []


@pytest.mark.parametrize(
    ("shift", "places", "proven"),
    [
        (None, [4, 9], 4),
        (None, [5, 9], None),
        (5, [4, 9], 9),
        (5, [4, 8], None),
    ],
)
def test_counted_numbers_prove_a_place_shifted_like_the_unique_hunk_above(
    shift: int | None, places: list[int], proven: int | None
) -> None:
    lines = ["x"] * 30
    above, one = hunk(1, start=1), hunk(2, start=4)
    exact = {1: [] if shift is None else [1 + shift], 2: places}
    assert proven_position(lines, one, [above, one], exact) == proven


@pytest.mark.parametrize(("below", "proven"), [(40, 7), (20, None)])
def test_a_hunk_with_the_same_number_counts_as_the_one_above(
    below: int, proven: int | None
) -> None:
    same, one, other = hunk(1, start=4), hunk(2, start=4), hunk(3, start=20)
    exact = {1: [7], 2: [4, 7], 3: [below] if below == 20 else [40, 50]}
    assert proven_position(["x"] * 60, one, [same, one, other], exact) == proven


@pytest.mark.parametrize(
    ("counts", "new_start", "proven"),
    [((1, 2), 4, 4), ((2, 2), 4, None), (None, 4, None), ((1, 2), None, None)],
)
def test_numbers_prove_nothing_where_they_do_not_count_the_lines(
    counts: tuple[int, int] | None, new_start: int | None, proven: int | None
) -> None:
    lines = (HunkLine(" ", "a"), HunkLine("+", "n"))
    one = Hunk(1, lines, 4, new_start, counts)
    assert proven_position(["x"] * 30, one, [one], {1: [4, 9]}) == proven


def test_a_place_at_the_edge_is_proven_by_its_number() -> None:
    one = hunk(1, "-b|+B| c", start=0)
    assert proven_position(["x"] * 30, one, [one], {1: [0, 9]}) == 0


@pytest.mark.parametrize(("below", "proven"), [(20, 4), (22, 6), (23, None)])
def test_counted_numbers_prove_a_place_shifted_like_the_unique_hunk_below(
    below: int, proven: int | None
) -> None:
    one, other = hunk(1, start=4), hunk(2, start=20)
    exact = {1: [4, 6], 2: [below]}
    assert proven_position(["x"] * 40, one, [one, other], exact) == proven


def test_the_nearest_unique_hunks_decide_by_how_much_a_hunk_is_shifted() -> None:
    starts = {1: 1, 2: 5, 3: 10, 4: 15, 5: 20}
    hunks = [hunk(number, start=at) for number, at in starts.items()]
    exact = {1: [8], 2: [7], 3: [12, 17, 19], 4: [17], 5: [29]}
    assert proven_position(["x"] * 60, hunks[2], hunks, exact) == 12


@pytest.mark.parametrize(("new_start", "proven"), [(4, None), (5, 4), (6, None)])
def test_a_new_number_must_count_what_the_hunks_above_add(
    new_start: int, proven: int | None
) -> None:
    above, one = hunk(1, GROWS, start=1), hunk(2, start=4, new_start=new_start)
    later = hunk(3, GROWS, start=9, new_start=10)
    exact = {1: [], 2: [4, 9], 3: []}
    assert proven_position(["x"] * 30, one, [above, one, later], exact) == proven


@pytest.mark.parametrize(
    ("shape", "trimmed", "places", "proven"),
    [
        ("-b|+B| c", 0, [4, 0], None),
        ("-b|+B| c", 0, [4, 9], 4),
        (" a|-b|+B", 0, [4, 18], None),
        (" a|-b|+B", 0, [4, 17], 4),
        (" a|-b|+B| c", 0, [4, 0, 17], 4),
        (" a|-b|+B", 1, [4, 18], 4),
        (" a| b", 0, [4, 0, 18], 4),
    ],
)
def test_missing_context_points_to_an_edge_of_the_file(
    shape: str, trimmed: int, places: list[int], proven: int | None
) -> None:
    one = hunk(1, shape, start=4, trimmed=trimmed)
    assert proven_position(["x"] * 20, one, [one], {1: places}) == proven


@pytest.mark.parametrize(
    ("starts", "places", "ordered"),
    [
        ([1, 5], [[2], [6]], True),
        ([5, 1], [[2], [6]], False),
        ([1, 5], [[6], [2]], False),
        ([1, 5], [[6], [2, 9]], True),
        ([None, 1], [[2], []], True),
        ([1, 1], [[2], [2]], True),
    ],
)
def test_hunks_are_in_order_by_their_numbers_and_their_places(
    starts: list[int | None], places: list[list[int]], ordered: bool
) -> None:
    hunks = [hunk(number, start=at) for number, at in enumerate(starts, 1)]
    assert is_in_order(hunks, dict(enumerate(places, 1))) is ordered


SHAPE = " one line|-two lines|+2| three lines| four lines"


@pytest.mark.parametrize(
    ("there", "place", "is_copy"),
    [
        (["one line", "changed!", "", "four lines"], 20, True),
        (["one line", "changed!", "", "unlike..."], 20, False),
        (["one line", "two lines", "three lines", "four lines"], 14, True),
        (["one line", "two lines", "three lines", "four lines"], 13, False),
        (["-", "-", "-", "-"], 20, False),
    ],
)
def test_half_of_the_lines_where_the_numbers_point_make_a_changed_copy(
    there: list[str], place: int, is_copy: bool
) -> None:
    lines = ["."] * 10 + there + ["."] * 20
    one = hunk(1, SHAPE, start=10)
    found = contradiction(lines, one, [one], {1: [place]})
    assert (found is not None) is is_copy
    assert found is None or "the diff puts it at line 11" in found


def test_a_copy_may_be_at_the_beginning_and_have_few_lines() -> None:
    lines = ["one line", "changed", *["."] * 30]
    one = hunk(1, " one line|-two lines|+2| ", start=0)
    assert contradiction(lines, one, [one], {1: [20]}) is not None


def test_one_place_that_fits_the_numbers_is_enough() -> None:
    lines = ["."] * 10 + ["one line", "changed!", "", "four lines"] + ["."] * 20
    one = hunk(1, SHAPE, start=10)
    assert contradiction(lines, one, [one], {1: [20, 12]}) is None


def test_a_file_shorter_than_a_hunk_has_no_copy_of_it() -> None:
    one = hunk(1, " one line|-two lines|+2")
    assert contradiction(["two lines"], one, [one], {1: []}) is None


@pytest.mark.parametrize(
    ("numbers", "starts", "places", "side"),
    [
        ((1, 2), (3, 9), (20, 9), "above"),
        ((1, 2), (3, 9), (8, 9), None),
        ((1, 2), (9, 3), (20, 9), None),
        ((2, 1), (9, 3), (5, 20), "below"),
        ((2, 1), (9, 3), (20, 5), None),
        ((2, 1), (3, 9), (5, 20), None),
        ((1, 2), (3, 3), (20, 9), None),
        ((2, 1), (3, 3), (5, 20), None),
        ((1, 2), (3, 9), (9, 9), None),
        ((2, 1), (9, 3), (5, 5), None),
        ((1, 2), (None, 9), (20, 9), None),
        ((1, 2), (3, None), (20, 9), None),
    ],
)
def test_a_place_on_the_wrong_side_of_a_unique_hunk_is_refused(
    numbers: tuple[int, int],
    starts: tuple[int | None, int | None],
    places: tuple[int, int],
    side: str | None,
) -> None:
    one, other = (hunk(number, start=at) for number, at in zip(numbers, starts, strict=True))
    unclear = hunk(9, start=1)
    exact = {one.number: [places[0]], other.number: [places[1]], 9: [2, 30]}
    found = contradiction(["-"] * 60, one, [unclear, one, other], exact)
    if side is None:
        assert found is None
    else:
        where = f"{side} hunk {other.number}, which is at line {places[1] + 1}"
        assert found is not None
        assert where in found
