"""The room of a conversation in its model's context window: what fits, and when to compact. Pure.

A model's context window holds its input and its answer, so the input has the window without
`max_tokens`. All figures are tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from coterie.dsl.model.compaction import Compaction

CHARACTERS_OF_A_TOKEN = 4

_KEPT_SHARE = 2
"""Kept turns may fill one half of what a conversation may have before it is compacted."""


@dataclass(frozen=True, slots=True)
class WindowExceeded:
    """A request is larger than the context window of its model."""

    tokens: int
    """Of the input, an estimate."""
    max_tokens: int
    window: int


@dataclass(frozen=True, slots=True)
class CompactionDue:
    """A conversation must be compacted before its next turn."""

    code: Literal["compaction_due", "window_exceeded"]
    tokens: int
    """Of the next request, an estimate; 0 where only the worker knows."""
    limit: int
    """More than this many are too many."""


def window_exceeded(tokens: int, max_tokens: int, window: int) -> WindowExceeded | None:
    """Return by what a request is too large; None if it fits."""
    if tokens + max_tokens <= window:
        return None
    return WindowExceeded(tokens, max_tokens, window)


def default_max_result(window: int, results: int) -> int:
    """Return how many characters of each result of a turn a model gets.

    One result has a quarter of the window, at `CHARACTERS_OF_A_TOKEN`; all together have a half.
    """
    return window * CHARACTERS_OF_A_TOKEN // max(4, 2 * results)


def compaction_limit(policy: Compaction, window: int | None, max_tokens: int) -> int | None:
    """Return the most tokens that a request has before it is compacted; None if unknown."""
    if isinstance(policy.at, int):
        return policy.at
    if window is None:
        return None
    return max(1, int(policy.at * (window - max_tokens)))


def compaction_due(tokens: int, limit: int | None) -> CompactionDue | None:
    """Return why a conversation is compacted before its next turn; None if it is not."""
    if limit is None or tokens <= limit:
        return None
    return CompactionDue("compaction_due", tokens, limit)


def turns_to_keep(sizes: Sequence[int], wanted: int, limit: int, least: int) -> int:
    """Return how many of the latest turns stay as they are, so that at least one does not.

    Args:
        sizes: the tokens of each turn, oldest first.
        wanted: how many may stay.
        limit: the tokens at which the conversation is compacted.
        least: 1 where the latest turn waits for the results of its calls, else 0.
    """
    turns, tokens = 0, 0
    for size in reversed(sizes[1:]):
        tokens += size
        if turns >= max(wanted, least) or (turns >= least and tokens > limit // _KEPT_SHARE):
            return turns
        turns += 1
    return turns
