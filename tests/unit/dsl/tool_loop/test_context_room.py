"""A conversation fits into the window of its model to the last token, or is compacted before."""

import pytest

from coterie.dsl.model.compaction import Compaction
from coterie.dsl.tool_loop.context_room import (
    CompactionDue,
    WindowExceeded,
    compaction_due,
    compaction_limit,
    turns_to_keep,
    window_exceeded,
)


def test_input_and_answer_may_fill_the_window_and_not_one_token_more() -> None:
    assert window_exceeded(80, 20, 100) is None
    assert window_exceeded(81, 20, 100) == WindowExceeded(81, 20, 100)


@pytest.mark.parametrize(
    ("at", "window", "limit"),
    [
        (1_000, None, 1_000),
        (1_000, 100, 1_000),
        (0.5, None, None),
        (0.5, 101, 40),
        (1.0, 101, 81),
        (0.5, 22, 1),
        (0.5, 20, 1),
        (0.9, 10, 1),
    ],
)
def test_a_share_counts_of_the_window_without_the_answer(
    at: float, window: int | None, limit: int | None
) -> None:
    assert compaction_limit(Compaction(at=at), window, 20) == limit


def test_a_conversation_is_compacted_above_its_limit_alone() -> None:
    assert compaction_due(100, 100) is None
    assert compaction_due(101, 100) == CompactionDue("compaction_due", 101, 100)
    assert compaction_due(101, None) is None


@pytest.mark.parametrize(
    ("sizes", "wanted", "limit", "least", "kept"),
    [
        ([9, 5, 5], 5, 20, 0, 2),
        ([9, 5, 5], 5, 21, 0, 2),
        ([9, 6, 5], 5, 21, 0, 1),
        ([9, 6, 5], 1, 99, 0, 1),
        ([9, 6, 5], 0, 99, 0, 0),
        ([9, 6, 5], 0, 99, 1, 1),
        ([9, 6, 50], 2, 20, 1, 1),
        ([9, 6, 50], 2, 20, 0, 0),
        ([9], 2, 99, 1, 0),
        ([], 2, 99, 1, 0),
    ],
)
def test_the_latest_turns_are_kept_as_far_as_they_fill_half_of_the_limit(
    sizes: list[int], wanted: int, limit: int, least: int, kept: int
) -> None:
    assert turns_to_keep(sizes, wanted, limit, least) == kept
