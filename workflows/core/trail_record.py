"""One event of a run, as its state keeps it."""

from dataclasses import dataclass
from datetime import UTC, datetime

from coterie.workflows.core.causes.shown_causes import without_wording
from coterie.workflows.core.causes.step_causes import WhenAsked
from coterie.workflows.core.causes.trail_because import trail_because
from coterie.workflows.core.causes.trail_causes import TrailCause
from coterie.workflows.core.views import CollectedFiles, TrailEntry, TrailKind


@dataclass(slots=True)
class TrailRecord:
    """One event of a run, as the state keeps it; people get its TrailEntry."""

    number: int
    at: float
    """Seconds of Unix time."""
    kind: TrailKind
    team: str
    visit: int
    step: str | None = None
    status: str | None = None
    cause: TrailCause | None = None
    next_team: str | None = None
    updated: tuple[str, ...] = ()
    seconds: float | None = None
    tokens: int | None = None
    found: CollectedFiles | None = None
    event: str | None = None
    when: WhenAsked | None = None

    @property
    def because(self) -> str:
        """The cause in words."""
        return trail_because(self.cause)

    def to_entry(self) -> TrailEntry:
        """Return the entry with its time in ISO 8601."""
        at = datetime.fromtimestamp(self.at, UTC).isoformat(timespec="milliseconds")
        return TrailEntry(
            number=self.number,
            at=at,
            kind=self.kind,
            team=self.team,
            visit=self.visit,
            step=self.step,
            status=self.status,
            because=self.because,
            next_team=self.next_team,
            updated=self.updated,
            seconds=self.seconds,
            tokens=self.tokens,
            found=self.found,
            event=self.event,
            ran_because=trail_because(self.when),
            when=self.when,
            cause=without_wording(self.cause),
        )
