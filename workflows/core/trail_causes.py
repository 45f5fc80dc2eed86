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
    HandedOff,
    Joined,
    NoRouting,
    NotDecided,
    RuleMatched,
    RunCancelled,
    SentOn,
    Started,
    VisitsReached,
)
from dsl.model.outcomes import Failure
from dsl.task_graph.task_causes import (
    GraphTaskBlocked,
    GraphTaskEnded,
    GraphTaskStarted,
    GraphTaskWaits,
)


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
        "not_chosen",
        "first_success",
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
class PersonaChosen:
    """The template of an agent step chose one of its personas."""

    code: Literal["persona_chosen"]
    persona: str
    template: str
    allowed: int
    """Personas that it may choose."""


@dataclass(frozen=True, slots=True)
class BranchRanked:
    """A branch of a parallel step with `join: best` succeeded, and was ranked."""

    code: Literal["branch_won", "branch_lost"]
    winner: str
    priority: int
    score: float | None = None


@dataclass(frozen=True, slots=True)
class CallRepeated:
    """A call repeatedly gave the same result."""

    code: Literal["call_repeated"]
    call: str
    """The skill's name."""
    times: int


@dataclass(frozen=True, slots=True)
class ModelTurned:
    """An agent that uses tools has had a turn."""

    code: Literal["turn_called", "turn_answered", "turn_too_early", "turn_unusable", "turn_failed"]
    number: int
    """From 1."""
    calls: tuple[str, ...] = ()
    """The tools that it calls, in the order of the calls."""
    last: bool = False
    """Whether no turns were left, so that it could call nothing."""


@dataclass(frozen=True, slots=True)
class CallRefused:
    """A call of a model is not executed."""

    code: Literal["call_refused"]
    tool: str
    refusal: str
    """The code of the refusal."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class LoopExited:
    """The success of a tool ended its agent."""

    code: Literal["loop_exited"]
    tool: str


@dataclass(frozen=True, slots=True)
class CallCutOff:
    """A model turn was left while it ran; its input is estimated."""

    code: Literal["call_cut_off"]
    model: str
    input_tokens: int


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
class ApprovalNotAsked:
    """The condition of an approval did not hold, so nobody was asked."""

    code: Literal["not_asked"]
    step: str
    """`team/path` of the step."""
    condition: ConditionFound | None = None
    """None if it is too long to show."""


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
    """The context could not be changed at the next boundary."""

    code: Literal["amend_refused"]
    asked: Amended
    message: str = ""


@dataclass(frozen=True, slots=True)
class TooLate:
    """The run ended before it could do what a person asked for."""

    code: Literal["too_late"]
    asked: Annotated[Amended | SentOn, Field(discriminator="code")]


@dataclass(frozen=True, slots=True)
class NotBegun:
    """A person redirected the run before a team began."""

    code: Literal["not_begun"]
    team: str
    sent: SentOn


@dataclass(frozen=True, slots=True)
class SkipAsked:
    """A person skips a task, now or when it starts."""

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
    """The run continues from a point of another one."""

    code: Literal["forked"]
    run: str
    at: str
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class MessageTaken:
    """A session began to work on a message."""

    code: Literal["message_taken"]
    number: int
    """From 1."""
    by: str


@dataclass(frozen=True, slots=True)
class MessageRefused:
    """The run could not accept a message."""

    code: Literal["refused"]
    refusal: str | None = None
    """Its code, if it has one."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class SignalsDropped:
    """More signals arrived than may wait before the run can judge them."""

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
    | HandedOff
    | VisitsReached
    | BudgetReached
    | StepStated
    | WhenAsked
    | Failed
    | RunEnded
    | BranchChosen
    | PersonaChosen
    | BranchRanked
    | CallRepeated
    | ModelTurned
    | CallRefused
    | LoopExited
    | CallCutOff
    | TimeOver
    | RequestDecided
    | ApprovalNotAsked
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
    | MessageTaken
    | MessageRefused
    | SignalsDropped
    | NoticeFailed
    | GraphTaskStarted
    | GraphTaskEnded
    | GraphTaskBlocked
    | GraphTaskWaits,
    Field(discriminator="code"),
]
"""Why an entry of the trail exists: a cause of `dsl.model.causes`, or one of these."""


def failed_with(error: TeamError) -> Failed:
    """Return a raised failure as a cause."""
    return Failed("failed", Failure(type(error).__name__, str(error)))


def run_ended(error: TeamError) -> RunEnded:
    """Return a raised failure as the cause of the run's end."""
    failure = Failure(type(error).__name__, str(error))
    if isinstance(error, LimitExceeded):
        return RunEnded("run_failed", failure, error.limit, error.allowed)
    return RunEnded("run_failed", failure)
