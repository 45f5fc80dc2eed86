"""How the branches of a parallel step rank, when enough have ended, and who wins."""

from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.dsl.evaluate.strategies import (
    JOIN_WORDS,
    BranchResult,
    Join,
    RefusedStrategy,
    chosen_branches,
    chosen_join,
    is_enough,
    ranked,
    winner_of,
)
from coterie.dsl.values import JsonValue

RESULTS = st.lists(
    st.builds(
        BranchResult,
        name=st.just("x"),
        success=st.booleans(),
        priority=st.integers(-2, 2),
        score=st.none() | st.integers(-2, 2).map(float),
        seconds=st.integers(0, 3).map(float),
    ),
    min_size=1,
    max_size=6,
).map(
    lambda found: [
        BranchResult(f"b{n}", one.success, one.priority, one.score, one.seconds)
        for n, one in enumerate(found)
    ]
)


def beats(one: BranchResult, other: BranchResult) -> bool:
    """The rule of the language, one key after another, in plain words."""
    if one.success is not other.success:
        return one.success
    if one.priority != other.priority:
        return one.priority > other.priority
    if one.score != other.score:
        return other.score is None or (one.score is not None and one.score > other.score)
    return one.seconds < other.seconds


@given(RESULTS)
def test_nobody_beats_a_branch_that_is_ranked_before_it(results: list[BranchResult]) -> None:
    order = ranked(results)
    for number, one in enumerate(order):
        assert not any(beats(later, one) for later in order[number + 1 :])


@given(RESULTS)
def test_ranking_keeps_every_branch_and_the_written_order_of_equals(
    results: list[BranchResult],
) -> None:
    order = ranked(results)
    assert sorted(one.name for one in order) == [one.name for one in results]
    for first, second in pairwise(order):
        if not beats(first, second):
            assert results.index(first) < results.index(second)


@given(RESULTS)
def test_the_order_of_ends_does_not_matter_for_the_best(
    results: list[BranchResult],
) -> None:
    names = [one.name for one in results]
    found = {winner_of("best", results, ends) for ends in list(permutations(names))[:24]}
    assert len(found) == 1
    [winner] = found
    good = [one for one in results if one.success]
    assert (winner is None) == (not good)
    if winner is not None:
        best = next(one for one in results if one.name == winner)
        assert not any(beats(one, best) for one in good)


TIES = [
    ("success first", BranchResult("a", False, 9, 9.0, 0.0), BranchResult("b", True)),
    ("then priority", BranchResult("a", True, 0, 9.0, 0.0), BranchResult("b", True, 1, 0.0, 9.0)),
    ("then score", BranchResult("a", True, 1, 0.1, 0.0), BranchResult("b", True, 1, 0.2, 9.0)),
    ("no score is the lowest", BranchResult("a", True), BranchResult("b", True, 0, -5.0, 9.0)),
    ("then seconds", BranchResult("a", True, 1, 0.1, 2.0), BranchResult("b", True, 1, 0.1, 1.0)),
]


@pytest.mark.parametrize(("worse", "better"), [row[1:] for row in TIES], ids=[r[0] for r in TIES])
def test_a_tie_is_broken_by_the_next_key(worse: BranchResult, better: BranchResult) -> None:
    for results in ([worse, better], [better, worse]):
        assert winner_of("best", results, ["a", "b"]) == "b"


def test_written_order_breaks_the_last_tie() -> None:
    equal = [BranchResult("a", True), BranchResult("b", True)]
    assert winner_of("best", equal, ["b", "a"]) == "a"


@pytest.mark.parametrize(
    ("join", "winner"), [("any", "c"), ("fallback", "c"), (2, "c"), ("all", None)]
)
def test_the_first_success_wins_where_nothing_is_ranked(join: Join, winner: str | None) -> None:
    results = [BranchResult("a", True, 5), BranchResult("b", False), BranchResult("c", True)]
    assert winner_of(join, results, ["b", "c", "a"]) == winner


@pytest.mark.parametrize(
    ("join", "good", "ended", "enough"),
    [
        ("all", 2, 2, False),
        ("all", 0, 3, True),
        ("best", 2, 2, False),
        ("best", 1, 3, True),
        ("any", 1, 1, True),
        ("any", 0, 2, False),
        ("any", 0, 3, True),
        (2, 1, 2, False),
        (2, 2, 2, True),
        ("fallback", 0, 1, False),
        ("fallback", 1, 2, True),
    ],
)
def test_enough_branches_have_ended(join: Join, good: int, ended: int, enough: bool) -> None:
    assert is_enough(join, good, ended, 3) is enough


NAMES = ["tool", "rag", "web"]


@pytest.mark.parametrize(
    ("only", "found"),
    [
        (["tool"], ["tool"]),
        (["web", "tool"], ["tool", "web"]),
        (["web", "web"], ["web"]),
    ],
)
def test_only_keeps_the_written_order(only: JsonValue, found: list[str]) -> None:
    assert chosen_branches("s", only, NAMES) == found


@pytest.mark.parametrize(
    ("only", "message"),
    [
        (["wbe"], "`only` of 's' names 'wbe'; branches: tool, rag, web. did you mean 'web'?"),
        ([7], "`only` of 's' names 7; branches: tool, rag, web"),
        ([], "`only` of 's' gives an empty list, not a list of its branches: tool, rag, web"),
        ("web", "`only` of 's' gives str, not a list of its branches: tool, rag, web"),
    ],
)
def test_a_branch_that_there_is_not_is_refused_by_name(only: JsonValue, message: str) -> None:
    assert chosen_branches("s", only, NAMES) == RefusedStrategy("UnknownBranch", message)


@pytest.mark.parametrize("join", [*JOIN_WORDS, 1, 3])
def test_every_word_and_number_joins(join: Join) -> None:
    assert chosen_join("s", join, NAMES) == join


@pytest.mark.parametrize("join", ["bset", True, 0, 4, 1.0, None, ["all"]])
def test_any_other_join_is_refused_with_what_is_allowed(join: JsonValue) -> None:
    refused = chosen_join("s", join, NAMES)
    assert isinstance(refused, RefusedStrategy)
    assert refused.type == "NotAJoin"
    assert "3" in refused.message
