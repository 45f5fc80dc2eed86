"""Which histories follow each other: by continue-as-new, a retry policy, or a reset.

A reset repeats the events of its base up to a point under another run id; the stream has passed
them in the base, so they are left out. A base that the server has deleted does not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from coterie.gateway.streams.cursors import Cursor


@dataclass(frozen=True, slots=True)
class LineagePart:
    """One history, from an event on."""

    run: str
    """Its run id."""
    after: int = 0
    """The last event that belongs to the part before."""


@dataclass(frozen=True, slots=True)
class Ancestry:
    """What the start of a history, and a reset in it, say of the one before."""

    before: str = ""
    """The run id of the history that it continues; empty for the first one."""
    base: str = ""
    """The run id of the history that it was reset from; empty if it is none of a reset."""
    repeated: int = 0
    """Of a reset: the last event that repeats one of the base."""

    @property
    def parent(self) -> str:
        """The run id of the history before it in the stream; empty for the first one."""
        return self.base or self.before


def parts_after(
    position: Cursor, latest: Sequence[LineagePart], passed: Sequence[LineagePart]
) -> tuple[LineagePart, ...]:
    """Return what a client at a position still lacks, oldest first.

    Args:
        position: What it has.
        latest: The histories that lead to the latest one, oldest first.
        passed: Those that lead to the position's own history, oldest first.
    """
    own = LineagePart(position.run, position.event)
    runs = [part.run for part in latest]
    if position.run in runs:
        place = runs.index(position.run)
        rest = max(latest[place].after, position.event)
        return (LineagePart(position.run, rest), *latest[place + 1 :])
    common = {part.run for part in passed}
    joined = [place for place, run in enumerate(runs) if run in common]
    return (own, *latest[joined[-1] + 1 if joined else 0 :])
