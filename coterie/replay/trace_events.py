"""What happened in a recorded run, as its decisions show it."""

from dataclasses import dataclass

from coterie.dsl.evaluate.context import PathChange
from coterie.dsl.evaluate.evidence import Examined, TriedAlternatives
from coterie.runs.ends.end_facts import ClosedState, VisitEnd
from coterie.workflows.core.views import TrailEntry


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One event in a visit, with the conditions and values behind it."""

    entry: TrailEntry
    alternatives: tuple[TriedAlternatives, ...] = ()
    """For a branch."""
    when: Examined | None = None
    """For a skipped step."""
    changes: tuple[PathChange, ...] = ()
    """What a person changed in the context."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit of a team: why it started, what happened, how it continued and why."""

    team: str
    visit: int
    began: str | None = None
    """ISO 8601; None if the history starts later."""
    came_because: str = ""
    happened: tuple[TraceEvent, ...] = ()
    ended: str | None = None
    """ISO 8601; None while it is in progress."""
    status: str | None = None
    """`success`, `failure`; inside the visit `stopped`, by other branches, or `left`, at the run's
    end; or the name of the error that ended the run or the branch there."""
    because: str = ""
    next_team: str | None = None
    """None: the run or the branch ends."""
    run: ClosedState | None = None
    """Of a visit that was left: what became of the run."""
    rules: tuple[TriedAlternatives, ...] | None = None
    """None if no rule was evaluated: a person's decision, a limit, or code of another version."""
    default: str | None = None
    """The default team; None if there is none."""
    changes: tuple[PathChange, ...] = ()
    """What the end of the visit changed in the context."""

    @property
    def name(self) -> str:
        """`review#2`."""
        return f"{self.team}#{self.visit}"

    @property
    def end(self) -> VisitEnd:
        """How it ended; ask only a visit that has."""
        return VisitEnd(
            self.team, self.visit, self.status, self.because, self.next_team, run=self.run
        )
