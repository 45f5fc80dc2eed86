"""Because: causes of the trail in words. The one place of this room that words them."""

from coterie.dsl.evaluate.because import act_because, condition_because, route_because
from coterie.dsl.model.causes import AnyRouteCause, ConditionFound
from coterie.dsl.task_graph.task_because import task_because
from coterie.workflows.core.causes.agent_because import agent_because, egress_because, hook_because
from coterie.workflows.core.causes.agent_causes import AgentCause
from coterie.workflows.core.causes.egress_causes import EgressCause
from coterie.workflows.core.causes.hook_causes import HookDecided
from coterie.workflows.core.causes.message_causes import (
    Forked,
    MessageCause,
    MessageRefused,
    MessageTaken,
    NotificationLost,
    SignalsDropped,
    WorkerBlocked,
)
from coterie.workflows.core.causes.people_causes import (
    Amended,
    AmendRefused,
    ApprovalAsked,
    ApprovalNotAsked,
    NotBegun,
    PauseChanged,
    PeopleCause,
    RequestDecided,
    RequestEscalated,
    RequestReminded,
    SkipAsked,
    TooLate,
)
from coterie.workflows.core.causes.step_causes import (
    BranchChosen,
    BranchRanked,
    Failed,
    RunEnded,
    StepCause,
    StepStated,
    TimeOver,
    WhenAsked,
)
from coterie.workflows.core.causes.trail_causes import TrailCause


def trail_because(cause: TrailCause | None) -> str:
    """Return why an entry of the trail exists, in words; empty without a cause."""
    return "" if cause is None else _cause_text(cause)


def _cause_text(cause: TrailCause) -> str:
    if isinstance(cause, AnyRouteCause):
        return route_because(cause)
    if isinstance(cause, StepCause):
        return _step(cause)
    if isinstance(cause, AgentCause):
        return agent_because(cause)
    if isinstance(cause, HookDecided):
        return hook_because(cause)
    if isinstance(cause, EgressCause):
        return egress_because(cause)
    if isinstance(cause, PeopleCause):
        return _people(cause)
    if isinstance(cause, MessageCause):
        return _message(cause)
    return task_because(cause)


def asked_because(asked: ApprovalAsked) -> str:
    """Return what the condition of an approval found: `context.n is 9 (greater_than 5)`."""
    if asked.failure is not None:
        return f"its condition failed: {asked.failure.message}"
    return _condition(asked.condition) or "its condition holds"


_STATED = {
    "earlier_step_failed": "an earlier step failed",
    "skipped_by_person": "a person skipped it",
    "skipped_with_value": "a person skipped it, and gave its result",
    "run_cancelled": "the run is cancelled",
    "plan_returned": "the plan ends here",
    "otherwise_chosen": "otherwise: no condition holds",
    "not_needed": "enough other branches have ended",
    "not_chosen": "`only` does not name this branch",
    "first_success": "won: the first branch that succeeded",
    "has_acted": "not retried: a call in it may have happened, and must not happen twice",
}


def _step(cause: StepCause) -> str:
    match cause:
        case StepStated(code=code):
            return _STATED[code]
        case WhenAsked(code=code, condition=condition):
            found = _condition(condition)
            return found if code == "when_held" else f"its `when` does not hold: {found}"
        case Failed(code="failed", failure=failure):
            return f"{failure.type}: {failure.message}"
        case Failed(code="when_failed", failure=failure):
            return f"when: {failure.message}"
        case Failed(failure=failure) | RunEnded(failure=failure):
            return failure.message
        case BranchChosen(number=number, condition=condition):
            return f"branch {number}: {_condition(condition)}"
        case BranchRanked(code=code, winner=winner, priority=priority, score=score):
            won = "won" if code == "branch_won" else f"branch {winner} is better"
            return (
                f"{won}: priority {priority}, {'no score' if score is None else f'score {score:g}'}"
            )
        case TimeOver(seconds=seconds):
            return f"cancel_timeout: {seconds:g} s have passed"


def _condition(found: ConditionFound | None) -> str:
    return "" if found is None else condition_because(found)


def _people(cause: PeopleCause) -> str:  # noqa: C901  # one case a cause
    match cause:
        case RequestDecided():
            comment = f": {cause.comment}" if cause.comment else ""
            changed = f"; changed {', '.join(cause.changes)}" if cause.changes else ""
            return f"{cause.request} {cause.verdict} by {cause.by}{comment}{changed}"
        case ApprovalAsked(step=step):
            return f"{step} needs an approval: {asked_because(cause)}"
        case ApprovalNotAsked(step=step, condition=condition):
            return f"{step} needs no approval: {_condition(condition)}"
        case RequestReminded():
            return f"{cause.request} still waits: reminder {cause.number}"
        case RequestEscalated():
            return f"{cause.request} also goes to {', '.join(cause.to)}"
        case PauseChanged(code=code, by=by, why=why):
            return act_because(code, by, why)
        case Amended(paths=paths, by=by, why=why):
            return act_because(f"amended {', '.join(paths)}", by, why)
        case AmendRefused(asked=asked, message=message):
            return f"{_people(asked)}: {message}"
        case TooLate(asked=asked):
            return f"the run ended before it was {trail_because(asked)}"
        case NotBegun(team=team, sent=sent):
            return f"{team} does not start: {route_because(sent)}"
        case SkipAsked(task=task, by=by, why=why):
            return act_because(f"skip of {task} requested", by, why)


def _message(cause: MessageCause) -> str:
    match cause:
        case WorkerBlocked(worker=worker, why=why):
            return f"the run blocked worker {worker}: {why}"
        case Forked(run=run, at=at, by=by, why=why):
            return act_because(f"forked from {run} at {at}", by, why)
        case MessageTaken(number=number, by=by):
            return f"message {number} from {by}"
        case MessageRefused(message=message):
            return message
        case SignalsDropped():
            return _dropped_request_because(cause)
        case NotificationLost(channel=channel, what=what, request=request, message=message):
            return f"channel {channel!r} did not deliver the {what} of {request}: {message}"


def _dropped_request_because(cause: SignalsDropped) -> str:
    signals = "signal" if cause.dropped == 1 else "signals"
    return (
        f"{cause.dropped:,} {signals} {cause.name!r} came before the run could judge them and were "
        f"dropped: {cause.waiting:,} signals with {cause.waiting_bytes:,} bytes waited already, "
        f"and {cause.max_waiting:,} with {cause.max_bytes:,} bytes are allowed"
    )
