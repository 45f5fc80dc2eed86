"""Causes of how steps, branches and the run ended."""

from dataclasses import dataclass
from typing import Literal

from coterie.dsl.errors import LimitExceeded, TeamError
from coterie.dsl.model.causes import ConditionFound
from coterie.dsl.model.outcomes import Failure


@dataclass(frozen=True, slots=True)
class StepStated:
    """A step ended for a reason that needs no more facts."""

    code: Literal[
        "earlier_step_failed",
        "skipped_by_person",
        "skipped_with_value",
        "run_cancelled",
        "plan_returned",
        "otherwise_chosen",
        "not_needed",
        "not_chosen",
        "first_success",
        "has_acted",
    ]


@dataclass(frozen=True, slots=True)
class WhenAsked:
    """The `when` of a step was evaluated."""

    code: Literal["when_held", "when_did_not_hold"]
    condition: ConditionFound | None = None
    """None if it is too long to show."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure: of a step, an attempt, a branch, a `when`, or what a `catch` caught.

    A block that fails because of one of its steps has the failure of that step.
    """

    code: Literal["failed", "branch_failed", "when_failed"]
    failure: Failure


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run failed between two teams: no route, a limit, a template in routing."""

    code: Literal["run_failed"]
    failure: Failure
    limit: str | None = None
    """The limit that the run reached."""
    allowed: float | None = None
    """How many the limit allows."""


@dataclass(frozen=True, slots=True)
class BranchChosen:
    """The condition of a branch held."""

    code: Literal["branch_chosen"]
    number: int
    """From 1."""
    condition: ConditionFound | None = None
    """None if it is too long to show."""


@dataclass(frozen=True, slots=True)
class BranchRanked:
    """A branch of a parallel step with `join: best` succeeded, and was ranked."""

    code: Literal["branch_won", "branch_lost"]
    winner: str
    priority: int
    score: float | None = None


@dataclass(frozen=True, slots=True)
class TimeOver:
    """The cleanup of a cancelled run took too long."""

    code: Literal["cancel_timeout"]
    seconds: float


def failed_with(error: TeamError) -> Failed:
    """Return a raised failure as a cause."""
    return Failed("failed", Failure(type(error).__name__, str(error)))


def run_ended(error: TeamError) -> RunEnded:
    """Return a raised failure as the cause of the run's end."""
    failure = Failure(type(error).__name__, str(error))
    if isinstance(error, LimitExceeded):
        return RunEnded("run_failed", failure, error.limit, error.allowed)
    return RunEnded("run_failed", failure)


StepCause = StepStated | WhenAsked | Failed | RunEnded | BranchChosen | BranchRanked | TimeOver
"""Why a step, a branch or a run stands where it stands."""
