"""The outcome of a run, for the expectations of a test."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from coterie.activities.contracts import Notification
from coterie.dsl.model.outcomes import End, Failure
from coterie.dsl.values import Json
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.run_client import Run
from coterie.testing.simulation.stage import Stage
from coterie.workflows.core.views import TrailEntry


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """A finished run."""

    end: End
    because: str
    error: Failure | None
    context: Json | None
    """None if the run ended without a result."""
    output: JsonValue
    """None if the run ended without a result."""
    visits: dict[str, int]
    teams_run: int
    model_calls: int
    function_calls: int
    tokens: int
    cost: float | None
    """US dollars, as counted by the run; None if no call has a price."""
    unpriced: tuple[str, ...]
    """Models that were called and have no price; `cost` omits them."""
    trail: tuple[TrailEntry, ...]
    notifications: tuple[Notification, ...]
    """Notifications that would have been sent."""
    duration: float
    """Seconds on the run's own clock."""
    folder: Path
    """Its workspace after the run."""

    @property
    def path(self) -> tuple[TrailEntry, ...]:
        """The teams in the order of their visits, each with its reason."""
        return tuple(entry for entry in self.trail if entry.kind == "team")

    def text_of(self, name: str) -> JsonValue:
        """Return the text of a file in the workspace; None if it is missing or not text."""
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None


async def outcome_of(run: Run, stage: Stage) -> CaseOutcome:
    """Collect the outcome of a finished run, whose worker still answers."""
    end = await run.end()
    status = await run.status()
    trail = tuple(await run.trail())
    described = await run.describe()
    result = end.result
    return CaseOutcome(
        end=end.outcome,
        because=result.because if result is not None else incomplete_reason(end),
        error=end.failure if result is None else result.error,
        context=None if result is None else result.context,
        output=None if result is None else result.output,
        visits=status.visits,
        teams_run=status.teams_run,
        model_calls=status.model_calls,
        function_calls=status.function_calls,
        tokens=status.usage.total,
        cost=status.cost,
        unpriced=await _models_without_price(run) if status.unpriced else (),
        trail=trail,
        notifications=stage.notifications.sent,
        duration=_length(described.start_time, described.close_time),
        folder=stage.folder,
    )


async def _models_without_price(run: Run) -> tuple[str, ...]:
    return tuple(row.name for row in (await run.cost()).models if row.unpriced)


def _length(start: datetime, close: datetime | None) -> float:
    return 0.0 if close is None else (close - start).total_seconds()
