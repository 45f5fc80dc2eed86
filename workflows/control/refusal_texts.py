"""Texts of refusals: the problem, then the allowed values or the fix."""

from typing import assert_never

from coterie.dsl.errors import asked_back, listed
from coterie.workflows.control.steering_refusals import (
    AmendConflicts,
    AmendInvalid,
    ApprovalProtected,
    FailedTaskUnknown,
    MessageUnusable,
    NothingToAmend,
    PathTooLong,
    PersonNotAllowed,
    RunUnable,
    SignalUnwanted,
    SteeringRefusal,
    TaskAmbiguous,
    TaskNotSkippable,
    TaskUnknown,
    TeamUnknown,
    TooManyMessages,
    TooManyPaths,
    TooManySignals,
    ValueForApproval,
)

_UNABLE = {
    "RunNotBegun": "the run has not started yet",
    "RunCancelled": "the run is cancelled, and only cleans up",
    "RunHasEnded": "the run has ended",
    "BetweenTeams": "the run is between two teams; send it again",
    "FanOutInProgress": "branches of a fan-out are running; send it again after they join",
    "NoSession": "no step of this run waits for messages",
    "NothingFailed": "no failed task waits for a decision; only tasks with `on_failure: ask` do",
}


def refusal_text(refusal: SteeringRefusal) -> str:
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
        case PersonNotAllowed() | ApprovalProtected():
            return _not_allowed(refusal)
        case ValueForApproval(request=request):
            return f"{request!r} is an approval, which has no value when skipped; omit `value`"
        case TaskNotSkippable():
            return _not_skippable(refusal)
        case SignalUnwanted() | TooManySignals() | TooManyMessages():
            return _signal(refusal)
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


def _not_skippable(refusal: TaskNotSkippable) -> str:
    task = repr(refusal.task)
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
