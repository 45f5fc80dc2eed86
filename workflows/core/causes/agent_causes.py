"""Causes of agents: their persona, turns and calls, what hooks decide, what labels refuse."""

from dataclasses import dataclass
from typing import Literal

from coterie.dsl.egress.counted_grants import WithheldGrant
from coterie.dsl.egress.met_labels import MetLabel
from coterie.dsl.model.capabilities import KeptLabel
from coterie.dsl.model.causes import ConditionFound
from coterie.dsl.model.hooks import HookDecision, HookPoint


@dataclass(frozen=True, slots=True)
class HookDecided:
    """A hook decided."""

    code: Literal["hook_decided"]
    hook: str
    point: HookPoint
    decision: HookDecision
    tool: str = ""
    """Of the call that it decided about."""
    condition: ConditionFound | None = None
    """Of its `when`."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class LabelMet:
    """A call brought a label into the run."""

    code: Literal["label_met"]
    label: KeptLabel
    tool: str


@dataclass(frozen=True, slots=True)
class LabelsCleared:
    """A person decided at an approval step, so what was met before counts no more."""

    code: Literal["labels_cleared"]
    labels: tuple[KeptLabel, ...]
    within: str = ""
    """The concurrent work in which it counts no more; empty for the whole run."""


@dataclass(frozen=True, slots=True)
class EgressAsked:
    """A call could send private data out because untrusted content says so; a person decides."""

    code: Literal["egress_asked"]
    tool: str
    sources: tuple[MetLabel, ...]
    withheld: tuple[WithheldGrant, ...] = ()
    """Grants of the tool that did not count in this call."""


@dataclass(frozen=True, slots=True)
class EgressGranted:
    """The document grants such a call, so nobody is asked."""

    code: Literal["egress_granted"]
    tool: str
    grants: tuple[KeptLabel, ...]
    """Those that counted."""
    sources: tuple[MetLabel, ...]
    within: tuple[str, ...] = ()
    """The tools around the call, which grant these, too."""
    withheld: tuple[WithheldGrant, ...] = ()
    """Grants of the tool that did not count in this call."""


EgressCause = LabelMet | LabelsCleared | EgressAsked | EgressGranted
"""What a run has met, and why a call may send it out or asks."""


@dataclass(frozen=True, slots=True)
class PersonaChosen:
    """The template of an agent step chose one of its personas."""

    code: Literal["persona_chosen"]
    persona: str
    template: str
    allowed: int
    """Personas that it may choose."""


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A `tool` step begins its call."""

    code: Literal["tool_called"]
    tool: str


@dataclass(frozen=True, slots=True)
class CallRepeated:
    """A call repeatedly gave the same result."""

    code: Literal["call_repeated"]
    call: str
    """The tool function's name."""
    times: int


@dataclass(frozen=True, slots=True)
class ToolsSearched:
    """A model searched among its tools."""

    code: Literal["tools_searched"]
    query: str
    found: tuple[str, ...] = ()
    """The tools that it may call now, best first."""


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
    skills: tuple[str, ...] = ()
    """The agent skills that its calls read."""


@dataclass(frozen=True, slots=True)
class ModelReplaced:
    """A fallback takes over from a model that is not available."""

    code: Literal["model_replaced"]
    model: str
    """`provider/model` of the one that failed."""
    fallback: str
    type: str
    """Of the failure."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class BatchSubmitted:
    """A provider works on a model turn as a batch; the run looks for the answer again and again."""

    code: Literal["batch_submitted"]
    batch: str
    """By which the provider knows it."""


@dataclass(frozen=True, slots=True)
class ConversationCompacted:
    """A conversation that has become long continues as a new one with a summary."""

    code: Literal["compaction_due", "window_exceeded"]
    tokens: int
    """Of the next request before, an estimate; 0 where the worker refused it."""
    limit: int
    """More than this many are too many; 0 where the worker refused the request."""
    model: str
    """`provider/model` that wrote the summary."""
    summarised: int
    """Turns that the summary replaces."""
    kept: int


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


AgentCause = (
    PersonaChosen
    | CallRepeated
    | ToolCalled
    | ToolsSearched
    | ModelTurned
    | ModelReplaced
    | BatchSubmitted
    | ConversationCompacted
    | CallRefused
    | LoopExited
    | CallCutOff
)
"""What an agent, its model or its tools did."""
