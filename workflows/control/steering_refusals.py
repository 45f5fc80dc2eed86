"""Refusals: why a run refuses what somebody asks of it, as facts and not as words.

Programs read the code, which is also the type of the error that an update answers with.
`workflows.control.refusal_texts` renders the facts for people. Decisions of requests have their own
refusals (`workflows.approvals.decision_refusals`).
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class RunUnable:
    """The state of the run rules it out, whatever the message contains."""

    code: Literal[
        "RunNotBegun",
        "RunCancelled",
        "RunHasEnded",
        "BetweenTeams",
        "FanOutInProgress",
        "NothingFailed",
        "NoSession",
    ]


@dataclass(frozen=True, slots=True)
class MessageUnusable:
    """The message has the wrong form, or is too large."""

    code: Literal["Malformed", "TooLarge", "BadMessage"]
    message: str


@dataclass(frozen=True, slots=True)
class NothingToAmend:
    """An amendment without a path."""

    code: Literal["NothingToAmend"] = "NothingToAmend"


@dataclass(frozen=True, slots=True)
class TooManyPaths:
    """An amendment of too many paths."""

    paths: int
    allowed: int
    code: Literal["TooManyPaths"] = "TooManyPaths"


@dataclass(frozen=True, slots=True)
class PathTooLong:
    """An amendment of a path with too many characters or parts."""

    path: str
    """Its beginning."""
    length: int
    allowed_length: int
    allowed_parts: int
    code: Literal["PathTooLong"] = "PathTooLong"


@dataclass(frozen=True, slots=True)
class AmendConflicts:
    """An amendment that the context cannot take."""

    message: str
    code: Literal["ContextConflict"] = "ContextConflict"


@dataclass(frozen=True, slots=True)
class AmendInvalid:
    """An amendment that does not fit the declared context."""

    message: str
    code: Literal["InvalidContext"] = "InvalidContext"


@dataclass(frozen=True, slots=True)
class TeamUnknown:
    """A team that the plan does not have."""

    team: str
    known: tuple[str, ...]
    code: Literal["UnknownTeam"] = "UnknownTeam"


@dataclass(frozen=True, slots=True)
class TaskUnknown:
    """A task that the plan does not have."""

    task: str
    suggestion: str | None
    """The known name that is nearest."""
    code: Literal["UnknownTask"] = "UnknownTask"


@dataclass(frozen=True, slots=True)
class FailedTaskUnknown:
    """No failed task of that name waits for a decision, but others do."""

    task: str
    waiting: tuple[str, ...]
    code: Literal["UnknownFailedTask"] = "UnknownFailedTask"


@dataclass(frozen=True, slots=True)
class TaskAmbiguous:
    """A name that several tasks have."""

    task: str | None
    """None if the message names no task, and several failed tasks wait."""
    meant: tuple[str, ...]
    code: Literal["AmbiguousTask"] = "AmbiguousTask"


@dataclass(frozen=True, slots=True)
class PersonNotAllowed:
    """Somebody who may not decide a request."""

    by: str
    request: str
    approvers: tuple[str, ...]
    code: Literal["NotAllowed"] = "NotAllowed"


@dataclass(frozen=True, slots=True)
class ApprovalProtected:
    """Somebody who may not skip an approval, or a task that holds one."""

    by: str
    task: str
    approval: str
    """The approval; the task itself, or a step in it."""
    approvers: tuple[str, ...]
    code: Literal["NotAllowed"] = "NotAllowed"


@dataclass(frozen=True, slots=True)
class ValueForApproval:
    """A value for a skipped approval, which has none."""

    request: str
    code: Literal["ValueForApproval"] = "ValueForApproval"


@dataclass(frozen=True, slots=True)
class TaskNotSkippable:
    """A task that cannot be skipped now."""

    code: Literal["TaskHasSteps", "TaskIsBranch", "TaskHasEnded", "TaskInRounds"]
    task: str
    step: str | None = None
    """With `TaskHasSteps`: the step in progress."""
    status: str | None = None
    """With `TaskHasEnded`: its status."""


@dataclass(frozen=True, slots=True)
class SignalUnwanted:
    """A named signal that no step of the plan waits for."""

    signal: str
    code: Literal["UnknownSignal"] = "UnknownSignal"


@dataclass(frozen=True, slots=True)
class TooManySignals:
    """A named signal of which too many already wait."""

    signal: str
    waiting: int
    code: Literal["TooManySignals"] = "TooManySignals"


@dataclass(frozen=True, slots=True)
class TooManyMessages:
    """A message of a session that has no room for it."""

    code: Literal["QueueFull", "SessionFull"]
    allowed: int


MessageRefusal = RunUnable | MessageUnusable | TooManyMessages
"""Why a run refuses a message of a session."""

SteeringRefusal = (
    RunUnable
    | MessageUnusable
    | NothingToAmend
    | TooManyPaths
    | PathTooLong
    | AmendConflicts
    | AmendInvalid
    | TeamUnknown
    | TaskUnknown
    | FailedTaskUnknown
    | TaskAmbiguous
    | PersonNotAllowed
    | ApprovalProtected
    | ValueForApproval
    | TaskNotSkippable
    | SignalUnwanted
    | TooManySignals
    | TooManyMessages
)
"""Why a run refuses to be amended, redirected or paused, or to retry or skip a task."""
