"""What people may read of a model's thinking, beside the sealed data that returns to its vendor."""

from coterie.dsl.values import Frozen

MAX_REASONING = 8_000
"""Characters of one turn: it stands in the history for people only."""


class ModelReasoning(Frozen):
    """The readable part of a model's thinking in one turn.

    No template, no tool and no model gets it, so nothing sends it out and it needs no labels of its
    own: who may read the answer of the turn may read it.
    """

    text: str
    is_summary: bool = False
    """Whether the vendor has summed it up for people."""
    left_out: int = 0
    """Characters after `text`."""


def reasoning_text(reasoning: ModelReasoning | None) -> str:
    """Return it as people read it; empty if there is none."""
    if reasoning is None:
        return ""
    left_out = f"... [{reasoning.left_out:,} more characters]" if reasoning.left_out else ""
    return reasoning.text + left_out
