"""Because: causes of agents with tools, of hooks and of egress in words."""

from coterie.dsl.egress.egress_wording import label_words, sources_text, withheld_text
from coterie.dsl.evaluate.because import condition_because
from coterie.dsl.model.hooks import HookDecision
from coterie.workflows.core.causes.agent_causes import (
    AgentCause,
    BatchSubmitted,
    CallCutOff,
    CallRefused,
    CallRepeated,
    ConversationCompacted,
    LoopExited,
    ModelReplaced,
    ModelTurned,
    PersonaChosen,
    ToolCalled,
)
from coterie.workflows.core.causes.egress_causes import (
    EgressAsked,
    EgressCause,
    EgressGranted,
    LabelMet,
    LabelsCleared,
)
from coterie.workflows.core.causes.hook_causes import HookDecided

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
        case ModelTurned(code=code, number=number, calls=calls, last=last):
            which = f"turn {number}{', the last,' if last else ''}"
            return f"{which} {_TURNS[code]}{' ' if calls else ''}{', '.join(calls)}"
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
            known = f"about {tokens:,} input tokens are counted, an estimate"
            left = f"nobody waits for the answer of {model or 'the agent'} any more"
            return f"{left}; {known if tokens else 'its usage is not known'}"


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
    found = cause.condition
    when = "" if found is None else f"; when: {condition_because(found)}"
    return f"hook {cause.hook}, {point}{where}, {_DECIDED[cause.decision]}{about}{when}"
