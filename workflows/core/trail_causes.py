"""Trail causes: why an entry of a run's trail exists, as facts and not as words.

Programs read these; `workflows.core.trail_because` renders them for people. As in
`dsl.model.causes`, every cause has a stable `code`, and a `message`, its own or its failure's, is
wording that no digest covers.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from dsl.errors import LimitExceeded, TeamError
from dsl.model.causes import (
    BudgetReached,
    Called,
    ConditionFound,
    DefaultTaken,
    Joined,
    NoRouting,
    NotDecided,
    RuleMatched,
    RunCancelled,
    SentOn,
    Started,
)
from dsl.model.outcomes import Failure


@dataclass(frozen=True, slots=True)
class StepStated:
    """A step ended for a reason that needs no more facts."""

    code: Literal[
        "earlier_step_failed",
        "skipped_by_person",
        "run_cancelled",
        "plan_returned",
        "otherwise_chosen",
        "not_needed",
    ]


@dataclass(frozen=True, slots=True)
class WhenAsked:
    """The `when` of a step was asked."""

    code: Literal["when_held", "when_did_not_hold"]
    condition: ConditionFound | None = None
    """None where it is too long to be shown."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Something failed: a step, an attempt, a branch, what a `catch` caught, a `when`.

    A block that fails with a step in it has the very failure of that step.
    """

    code: Literal["failed", "branch_failed", "when_failed"]
    failure: Failure


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run failed between two teams: no route, a limit, a template of its routing."""

    code: Literal["run_failed"]
    failure: Failure
    limit: str | None = None
    """The limit that is reached."""
    allowed: float | None = None
    """By that limit."""


@dataclass(frozen=True, slots=True)
class BranchChosen:
    """The condition of a branch held."""

    code: Literal["branch_chosen"]
    number: int
    """From 1."""
    condition: ConditionFound | None = None
    """None where it is too long to be shown."""


@dataclass(frozen=True, slots=True)
class CallRepeated:
    """A call brought the same again and again."""

    code: Literal["call_repeated"]
    call: str
    """The skill's name."""
    times: int


@dataclass(frozen=True, slots=True)
class TimeOver:
    """The cleanup of a cancelled run took too long."""

    code: Literal["cancel_timeout"]
    seconds: float


@dataclass(frozen=True, slots=True)
class RequestDecided:
    """Somebody decided a request."""

    code: Literal["decided"]
    request: str
    verdict: str
    by: str
    comment: str = ""
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestReminded:
    """A request still waits."""

    code: Literal["reminded"]
    request: str
    number: int


@dataclass(frozen=True, slots=True)
class RequestEscalated:
    """Further people may decide a request."""

    code: Literal["escalated"]
    request: str
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PauseChanged:
    """A person paused or resumed the run."""

    code: Literal["paused", "resumed"]
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Amended:
    """A person changed the context."""

    code: Literal["amended"]
    paths: tuple[str, ...]
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class AmendRefused:
    """A change of the context could not be made at the next boundary."""

    code: Literal["amend_refused"]
    asked: Amended
    message: str = ""


@dataclass(frozen=True, slots=True)
class TooLate:
    """The run ended before it did what a person asked for."""

    code: Literal["too_late"]
    asked: Annotated[Amended | SentOn, Field(discriminator="code")]


@dataclass(frozen=True, slots=True)
class NotBegun:
    """A person sent the run on before a team began."""

    code: Literal["not_begun"]
    team: str
    sent: SentOn


@dataclass(frozen=True, slots=True)
class SkipAsked:
    """A person skips a task, now or when it would begin."""

    code: Literal["skip_asked"]
    task: str
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class WorkerBlocked:
    """A watchdog ended a worker that the run had blocked."""

    code: Literal["worker_blocked"]
    worker: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Forked:
    """The run goes on from a point of another one."""

    code: Literal["forked"]
    run: str
    at: str
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class MessageRefused:
    """A message could not be taken."""

    code: Literal["refused"]
    refusal: str | None = None
    """Its code, where it has one."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class SignalsDropped:
    """Signals came before the run could judge them, and more of them than may wait."""

    code: Literal["signals_dropped"]
    name: str
    dropped: int
    waiting: int
    waiting_bytes: int
    max_waiting: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class NoticeFailed:
    """A notification of a request reached nobody."""

    code: Literal["notice_failed"]
    channel: str
    what: str
    request: str
    message: str = ""


TrailCause = Annotated[
    RuleMatched
    | DefaultTaken
    | NoRouting
    | Started
    | Called
    | Joined
    | RunCancelled
    | SentOn
    | NotDecided
    | BudgetReached
    | StepStated
    | WhenAsked
    | Failed
    | RunEnded
    | BranchChosen
    | CallRepeated
    | TimeOver
    | RequestDecided
    | RequestReminded
    | RequestEscalated
    | PauseChanged
    | Amended
    | AmendRefused
    | TooLate
    | NotBegun
    | SkipAsked
    | WorkerBlocked
    | Forked
    | MessageRefused
    | SignalsDropped
    | NoticeFailed,
    Field(discriminator="code"),
]
"""Why an entry of the trail exists: a cause of `dsl.model.causes`, or one of these."""


def failed_with(error: TeamError) -> Failed:
    """A failure that was raised."""
    return Failed("failed", Failure(type(error).__name__, str(error)))


def run_ended(error: TeamError) -> RunEnded:
    """The end of a run by what was raised."""
    failure = Failure(type(error).__name__, str(error))
    if isinstance(error, LimitExceeded):
        return RunEnded("run_failed", failure, error.limit, error.allowed)
    return RunEnded("run_failed", failure)
