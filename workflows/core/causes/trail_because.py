"""Because: causes of the trail in words. The one place of this room that words them."""

from coterie.dsl.egress.egress_wording import label_words, sources_text, withheld_text
from coterie.dsl.evaluate.because import act_because, condition_because, route_because
from coterie.dsl.model.causes import AnyRouteCause, ConditionFound
from coterie.dsl.model.hooks import HookDecision
from coterie.dsl.task_graph.task_because import task_because
from coterie.workflows.core.causes.agent_causes import (
    AgentCause,
    BatchSubmitted,
    CallCutOff,
    CallRefused,
    CallRepeated,
    ConversationCompacted,
    EgressAsked,
    EgressCause,
    EgressGranted,
    HookDecided,
    LabelMet,
    LabelsCleared,
    LoopExited,
    ModelReplaced,
    ModelTurned,
    PersonaChosen,
    ToolCalled,
    ToolsSearched,
)
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
    MessagesRead,
    NotBegun,
    PauseChanged,
    PeopleCause,
    PersonSaid,
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

_TURNS = {
    "turn_called": "calls",
    "turn_answered": "answers",
    "turn_too_early": "answers before the calls that its policy demands",
    "turn_unusable": "gives an answer that cannot be used",
    "turn_failed": "has no answer",
}


def agent_because(cause: AgentCause) -> str:  # noqa: C901  # one case a cause
    """Return what an agent, its model or its tools did."""
    match cause:
        case PersonaChosen(persona=persona, template=template, allowed=allowed):
            return f"persona {persona}, one of {allowed}: {template}"
        case CallRepeated(call=call, times=times):
            return (
                f"{call} was called {times} times with the same arguments and gave the same "
                "result each time"
            )
        case ToolCalled(tool=tool):
            return f"calls the tool {tool}"
        case ToolsSearched(query=query, found=found):
            return f"searched for {query!r} and found {', '.join(found) or 'no tool'}"
        case ModelTurned(code=code, number=number, calls=calls, last=last):
            which = f"turn {number}{', the last,' if last else ''}"
            read = f" of the skills {', '.join(cause.skills)}" if cause.skills else ""
            return f"{which} {_TURNS[code]}{' ' if calls else ''}{', '.join(calls)}{read}"
        case ModelReplaced(model=model, fallback=fallback, type=type, message=message):
            return f"{fallback} takes over from {model}: {type}: {message}"
        case BatchSubmitted(batch=batch):
            return f"its provider answers when it has time: batch {batch}"
        case ConversationCompacted():
            return _compaction_because(cause)
        case CallRefused(message=message):
            return message
        case LoopExited(tool=tool):
            return f"{tool} succeeded, which ends the agent"
        case CallCutOff(model=model, input_tokens=tokens):
            estimate = f"about {tokens:,} input tokens are counted, an estimate"
            summary = f"nobody waits for the answer of {model or 'the agent'} any more"
            return f"{summary}; {estimate if tokens else 'its usage is not known'}"


def _compaction_because(cause: ConversationCompacted) -> str:
    turns = f"{cause.summarised} turn{'' if cause.summarised == 1 else 's'}"
    what = f"{cause.model} sums {turns} up, and the latest {cause.kept} stay"
    if cause.code == "window_exceeded":
        return f"the next request exceeds the context window; {what}"
    size = f"the next request would have about {cause.tokens:,} tokens, more than {cause.limit:,}"
    return f"{size}; {what}"


def egress_because(cause: EgressCause) -> str:
    """Return what a run has met, and why a call may send it out or asks."""
    match cause:
        case LabelMet(label=label, tool=tool):
            return f"{tool} brought {label_words(label)}"
        case LabelsCleared(labels=labels, within=within):
            where = f" within {within}" if within else ""
            return (
                f"a person has decided: earlier labels ({', '.join(labels)}) no longer count{where}"
            )
        case EgressAsked(tool=tool, sources=sources, withheld=withheld):
            return (
                f"{tool} sends data out, and the run has met {sources_text(sources)}"
                f"{withheld_text(withheld)}"
            )
        case EgressGranted(tool=tool, grants=grants, sources=sources, within=within):
            around = f" to it and to {' and '.join(within)} around it" if within else ""
            return (
                f"{tool} needs no approval: the document grants {', '.join(grants)}{around}; the "
                f"run has met {sources_text(sources)}{withheld_text(cause.withheld)}"
            )


_DECIDED: dict[HookDecision, str] = {
    "continue": "lets it continue",
    "modify": "changes it",
    "retry": "wants a retry",
    "fail": "fails",
    "reject": "rejects it",
}


def hook_because(cause: HookDecided) -> str:
    """Return what a hook decided."""
    point = cause.point.replace("_", " ")
    where = f" of {cause.tool}" if cause.tool else ""
    about = f": {cause.message}" if cause.message else ""
    condition = cause.condition
    when = "" if condition is None else f"; when: {condition_because(condition)}"
    return f"hook {cause.hook}, {point}{where}, {_DECIDED[cause.decision]}{about}{when}"


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
            description = _condition(condition)
            return (
                description if code == "when_held" else f"its `when` does not hold: {description}"
            )
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


def _condition(condition: ConditionFound | None) -> str:
    return "" if condition is None else condition_because(condition)


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
        case PersonSaid(step=step, by=by, text=text):
            return f"{by} tells {step}: {text}"
        case MessagesRead(turn=turn, by=by, texts=texts):
            what = f"what {' and '.join(by)} said: {' | '.join(texts)}"
            return f"turn {turn} reads {what}" if turn else f"it ended before it read {what}"
        case AmendRefused(asked=change, message=message):
            return f"{_people(change)}: {message}"
        case TooLate(asked=change):
            return f"the run ended before it was {trail_because(change)}"
        case NotBegun(team=team, sent=redirect):
            return f"{team} does not start: {route_because(redirect)}"
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
