"""How far an agent, its model turn in progress, and one call of a tool are."""

from dataclasses import dataclass, field
from typing import Literal

from coterie.activities.contracts import (
    AgentRequest,
    CodeAnswer,
    CodeState,
    ContextUse,
    StartedBatch,
)
from coterie.dsl.model.tools.asked_input import AskedInput
from coterie.dsl.tool_loop.context_room import CompactionDue
from coterie.dsl.tool_loop.tool_loop_progress import OpenCall, ToolLoopProgress
from coterie.dsl.values import Json


@dataclass(slots=True)
class AgentLoopProgress:
    """An agent that uses tools, between two of its turns and calls."""

    execution: int
    """The number of the execution of its step, which names its calls."""
    head: str | None = None
    """The name of its latest turn."""
    conversation: str | None = None
    """The conversation that it holds."""
    problem: str = ""
    """What is wrong with its latest answer, which must be given again."""
    fallback: str = ""
    """`provider/model` of the fallback that has taken over; empty if none has."""
    context: ContextUse | None = None
    """How full its conversation is, if its persona compacts it."""
    loop: ToolLoopProgress = field(default_factory=ToolLoopProgress)


@dataclass(slots=True)
class ParkedTurn:
    """A model turn that its provider works on as a batch.

    The state keeps it only while the run continues as new. Then the turn continues here: nothing
    before it is asked, counted, admitted or submitted again.
    """

    batch: StartedBatch
    call: str
    """Id of the call that has submitted it."""
    began: float
    """Unix time."""
    wait: float
    """Seconds of the wait for the next look."""
    left: float | None = None
    """Seconds left of that wait."""
    looks: int = 0
    request: AgentRequest | None = None
    """Of the agent's turn, to the first of its models."""
    model: str = ""
    """`provider/model` that the agent uses now."""
    fallbacks: int = 0
    """Models that have failed in this call."""
    compacts: CompactionDue | None = None
    """Why the conversation is compacted, if the batch is its summary and not the turn."""
    compacted: bool = False
    """Whether the conversation was compacted for this turn."""
    suffix: str = ""
    """Of the turn's name."""
    reasks: int = 0
    """Times that the answer was asked again; an agent without tools counts here."""
    reasks_left: int = 0
    hook_retries: dict[str, int] = field(default_factory=dict[str, int])
    """`{hook: retries so far}` of an agent without tools."""
    conversation: str = ""
    """That an agent without tools holds."""


@dataclass(slots=True)
class SaidMessage:
    """What a person said to an agent at work."""

    text: str
    by: str
    id: str = ""
    """Of the message to the session that it is; empty for any other."""
    is_read: bool = False
    """Whether a stored turn of the agent has it."""


@dataclass(slots=True)
class SendingCall:
    """A call that sends data out, and that a person decides about."""

    digest: str
    """Of its arguments: an approval covers these and no others."""
    approved: bool = False


@dataclass(slots=True)
class PublishedWork:
    """A text of a tool that other tools read."""

    kind: Literal["final", "tool_result"]
    text: str
    work: str = ""
    """Digest of the arguments that it answers; empty for an agent with one conversation."""


@dataclass(slots=True)
class CallInput:
    """A call of a tool that has asked a person."""

    call: str
    """Digest of what is called with which input."""
    execution: int
    """The number of the execution of its step, which names the call."""
    asked: AskedInput
    rounds: int = 1
    """How often it has asked."""
    is_answered: bool = False
    """Whether a person has answered, and the call is made again."""
    answers: dict[str, Json] = field(default_factory=dict[str, Json])
    """By the key of the question."""
    by: str = ""
    """Who gave the last answers."""


@dataclass(slots=True)
class HookedCall:
    """A tool call that its hooks have let pass."""

    given: Json
    """Its whole input."""
    changed_by: list[str] = field(default_factory=list[str])
    """The hooks that changed it."""
    retries: dict[str, int] = field(default_factory=dict[str, int])
    """`{hook: retries so far}`."""


@dataclass(slots=True)
class ProgramCall:
    """A call that a program has begun."""

    id: int
    """Its number in the program."""
    call: OpenCall
    answer: CodeAnswer | None = None
    """What it came to; None while it is open."""


@dataclass(slots=True)
class ProgramProgress:
    """A program whose code calls tools, between two of its activities."""

    execution: int
    """The number of the execution of its step, which names its calls."""
    rounds: int = 0
    """How often it has waited for calls."""
    state: CodeState | None = None
    """Where it continues."""
    calls: list[ProgramCall] = field(default_factory=list[ProgramCall])
    """That it waits for."""
