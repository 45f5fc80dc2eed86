"""Compaction: when a conversation that has become long continues as a new one with a summary."""

from typing import Annotated

from pydantic import Field

from coterie.dsl.values import Frozen

DEFAULT_AT = 0.8
DEFAULT_KEPT_TURNS = 4


class Compaction(Frozen):
    """When and how a persona's conversations are compacted."""

    at: (
        Annotated[float, Field(strict=True, gt=0, le=1)]
        | Annotated[int, Field(strict=True, ge=1_000, le=100_000_000)]
    ) = DEFAULT_AT
    """The share of the context window, without `max_tokens`, or the tokens, above which the
    conversation is compacted before its next turn."""
    keep_turns: int = Field(default=DEFAULT_KEPT_TURNS, ge=0, le=1_000)
    """How many of the latest turns stay as they are."""
    model: str | None = None
    """`provider/model` that writes the summary. Default: the model of the conversation."""
    prompt: str | None = Field(default=None, min_length=1)
    """What the model is asked, instead of Coterie's own words."""
