"""Refusals: why a run refuses what somebody asks of it, as facts, and the texts of these facts.

Programs read the code, which is also the type of the error that an update answers with. Decisions
of requests have their own refusals (`workflows.approvals.decision_refusals`).
"""

from dataclasses import dataclass
from typing import Literal, assert_never

from coterie.dsl.errors import asked_back, listed


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

    code: Literal["Malformed", "TooLarge", "BadMessage", "TooManyReceivers"]
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
class NoAgentAtWork:
    """No agent would read a message at its next turn."""

    doing: tuple[str, ...]
    """The steps in progress."""
    code: Literal["NoAgent"] = "NoAgent"


@dataclass(frozen=True, slots=True)
class AgentUnknown:
    """No agent of that name is at work, but others are."""

    step: str
    working: tuple[str, ...]
    suggestion: str | None
    """The known name that is nearest."""
    code: Literal["UnknownAgent"] = "UnknownAgent"


@dataclass(frozen=True, slots=True)
class AgentAmbiguous:
    """Several agents are at work that a message could be for."""

    step: str | None
    """None if the message names none."""
    meant: tuple[str, ...]
    code: Literal["AmbiguousAgent"] = "AmbiguousAgent"


@dataclass(frozen=True, slots=True)
class TooMuchSaid:
    """There is no room for one more message to an agent."""

    code: Literal["TooMuchSaid"]
    step: str
    allowed: int
    is_size: bool = False
    """Whether `allowed` counts the bytes of all messages, and not the messages that wait."""


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
class TaskRequestChanged:
    """The message names a digest of something that the task's request does not show."""

    task: str
    named: str
    digest: str
    """Of what is shown now; empty if the task waits for nobody."""
    code: Literal["RequestChanged"] = "RequestChanged"


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


@dataclass(frozen=True, slots=True)
class SessionMovedOn:
    """A message that follows another one than the newest of the session."""

    after: str
    code: Literal["MovedOn"] = "MovedOn"


MessageRefusal = RunUnable | MessageUnusable | TooManyMessages | SessionMovedOn
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
    | NoAgentAtWork
    | AgentUnknown
    | AgentAmbiguous
    | TooMuchSaid
    | PersonNotAllowed
    | ApprovalProtected
    | ValueForApproval
    | TaskNotSkippable
    | TaskRequestChanged
    | SignalUnwanted
    | TooManySignals
    | TooManyMessages
    | SessionMovedOn
)
"""Why a run refuses to be amended, redirected or paused, or to retry or skip a task."""


_UNABLE = {
    "RunNotBegun": "the run has not started yet",
    "RunCancelled": "the run is cancelled, and only cleans up",
    "RunHasEnded": "the run has ended",
    "BetweenTeams": "the run is between two teams; send it again",
    "FanOutInProgress": "branches of a fan-out are running; send it again after they join",
    "NoSession": "no step of this run waits for messages",
    "NothingFailed": "no failed task waits for a decision; only tasks with `on_failure: ask` do",
}


def refusal_text(refusal: SteeringRefusal) -> str:  # noqa: C901  # one case a kind
    """Return the refusal as a sentence."""
    match refusal:
        case RunUnable(code=code):
            return _UNABLE[code]
        case (
            MessageUnusable(message=message)
            | AmendConflicts(message=message)
            | AmendInvalid(message=message)
        ):
            return message
        case NothingToAmend() | TooManyPaths() | PathTooLong():
            return _amend(refusal)
        case TeamUnknown() | TaskUnknown() | FailedTaskUnknown() | TaskAmbiguous():
            return _name(refusal)
        case NoAgentAtWork() | AgentUnknown() | AgentAmbiguous() | TooMuchSaid():
            return _not_said(refusal)
        case PersonNotAllowed() | ApprovalProtected():
            return _not_allowed(refusal)
        case ValueForApproval(request=request):
            return f"{request!r} is an approval, which has no value when skipped; omit `value`"
        case TaskNotSkippable() | TaskRequestChanged():
            return _not_skippable(refusal)
        case SignalUnwanted() | TooManySignals() | TooManyMessages():
            return _signal(refusal)
        case SessionMovedOn(after=after):
            return f"the message {after!r} is not the newest one of the session any more"
        case _:
            assert_never(refusal)


def _amend(refusal: NothingToAmend | TooManyPaths | PathTooLong) -> str:
    match refusal:
        case NothingToAmend():
            return "an amendment changes at least one path of the context"
        case TooManyPaths():
            return f"an amendment changes at most {refusal.allowed} paths, not {refusal.paths:,}"
        case PathTooLong():
            return (
                f"a path has at most {refusal.allowed_length} characters and "
                f"{refusal.allowed_parts} parts; this one has {refusal.length:,} characters: "
                f"{refusal.path!r}"
            )


def _name(refusal: TeamUnknown | TaskUnknown | FailedTaskUnknown | TaskAmbiguous) -> str:
    match refusal:
        case TeamUnknown():
            return f"the plan has no team {refusal.team!r}; it has: {listed(refusal.known)}"
        case TaskUnknown():
            hint = asked_back(refusal.suggestion)
            return f"the plan has no task {refusal.task!r}{f'; {hint}' if hint else ''}"
        case FailedTaskUnknown():
            waiting = listed(refusal.waiting)
            return f"no failed task {refusal.task!r} waits for a decision; waiting: {waiting}"
        case TaskAmbiguous(task=None):
            return f"several failed tasks wait; name one: {listed(refusal.meant)}"
        case TaskAmbiguous():
            return f"several tasks are called {refusal.task!r}; name one: {listed(refusal.meant)}"


def _not_said(refusal: NoAgentAtWork | AgentUnknown | AgentAmbiguous | TooMuchSaid) -> str:
    match refusal:
        case NoAgentAtWork(doing=doing):
            now = f" now; in progress: {listed(doing)}" if doing else " now"
            return f"no agent that uses tools is at work{now}; amend the context instead"
        case AgentUnknown(step=step, working=working, suggestion=suggestion):
            hint = f"; {asked_back(suggestion)}" if suggestion else ""
            return f"no agent {step!r} is at work; at work: {listed(working)}{hint}"
        case AgentAmbiguous(step=None, meant=meant):
            return f"several agents are at work; name the step of one: {listed(meant)}"
        case AgentAmbiguous(step=step, meant=meant):
            return f"several agents at work are called {step!r}; name one: {listed(meant)}"
        case TooMuchSaid(step=step, allowed=allowed, is_size=False):
            return (
                f"{allowed} messages wait for the next turn of {step!r}; send it again after that"
            )
        case TooMuchSaid(allowed=allowed):
            return f"the messages to the agents at work would have more than {allowed:,} bytes"


def _not_allowed(refusal: PersonNotAllowed | ApprovalProtected) -> str:
    allowed = f"allowed: {listed(refusal.approvers)}"
    match refusal:
        case PersonNotAllowed():
            return f"{refusal.by!r} may not decide {refusal.request!r}; {allowed}"
        case ApprovalProtected(task=task, approval=approval) if task == approval:
            return f"{refusal.by!r} may not skip the approval {task!r}; {allowed}"
        case ApprovalProtected():
            return (
                f"{refusal.by!r} may not skip {refusal.task!r}, which contains the approval "
                f"{refusal.approval!r}; {allowed}"
            )


def _not_skippable(refusal: TaskNotSkippable | TaskRequestChanged) -> str:
    task = repr(refusal.task)
    if isinstance(refusal, TaskRequestChanged):
        now = f"its digest is {refusal.digest!r}" if refusal.digest else "it waits for nobody now"
        return f"the request of {task} has changed: {now}, not {refusal.named!r}; look at it again"
    match refusal.code:
        case "TaskHasSteps":
            return f"{task} consists of steps; skip the one in progress: {refusal.step!r}"
        case "TaskIsBranch":
            return f"{task} is a branch of a parallel step; skip a step in it, or the whole step"
        case "TaskHasEnded":
            return f"{task} has already ended ({refusal.status}); fork the run to run it again"
        case "TaskInRounds":
            return f"{task} is in a loop with concurrent rounds; skip it while its round runs"


def _signal(refusal: SignalUnwanted | TooManySignals | TooManyMessages) -> str:
    match refusal:
        case SignalUnwanted():
            return f"no step of this plan waits for a signal {refusal.signal!r}"
        case TooManySignals():
            return f"{refusal.waiting} signals {refusal.signal!r} wait already"
        case TooManyMessages(code="QueueFull", allowed=allowed):
            return f"{allowed} messages wait for their replies; send it again after the next reply"
        case TooManyMessages(allowed=allowed):
            return f"the session has had its {allowed:,} messages (`max_messages`)"
