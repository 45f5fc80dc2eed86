"""Word how far concurrent loops are, and choose which of their steps a list shows."""

from collections.abc import Sequence
from typing import NamedTuple

from coterie.dsl.visible import one_line
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import RoundsView, StepInProgress

_MAX_STEPS = 5
"""Steps in progress within one loop that a list shows."""
_WORDS = {
    "success": "succeeded",
    "failure": "failed",
    "skipped": "skipped",
    "running": "running",
    "waiting": "waiting for a person",
    "pending": "not started",
}
_ENDED = ("success", "failure", "skipped")


class StepsShown(NamedTuple):
    """The steps in progress that a list shows."""

    steps: Sequence[StepInProgress]
    more: int = 0
    """Steps in progress within loops that it leaves out."""


def rounds_text(of: RoundsView) -> str:
    """Word the counts of a loop: `work/each: 3 of 30 rounds ended: 3 succeeded, 8 running`."""
    return f"{one_line(of.step)}: {rounds_of(of)}"


def rounds_of(of: RoundsView) -> str:
    """Word the counts of a loop, without its name."""
    ended_count = sum(of.counts.get(state, 0) for state in _ENDED)
    parts = [f"{of.counts[state]} {words}" for state, words in _WORDS.items() if state in of.counts]
    return f"{ended_count} of {of.rounds} rounds ended: {', '.join(parts)}"


def steps_shown(doing: Sequence[StepInProgress], loops: Sequence[RoundsView]) -> StepsShown:
    """Return the steps, those within a loop in the order of its rounds, and only the first few."""
    left_out: set[str] = set()
    order = {current.step: (number, ()) for number, current in enumerate(doing)}
    for loop in loops:
        key = StepKey(loop.step)
        within = sorted((current.step for current in doing if key.holds(current.step)), key=_rounds)
        left_out.update(within[_MAX_STEPS:])
        if within:
            first = min(order[step][0] for step in within)
            order |= {step: (first, _rounds(step)) for step in within}
    steps = sorted(
        (current for current in doing if current.step not in left_out), key=lambda a: order[a.step]
    )
    return StepsShown(steps, len(left_out))


def _rounds(step: str) -> tuple[tuple[int, str], ...]:
    """Sort the parts of a path that are numbers as numbers."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in step.split("/"))
