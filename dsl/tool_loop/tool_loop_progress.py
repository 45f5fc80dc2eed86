"""How far a tool loop is: typed and serialisable, so that a run continues between two calls."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from coterie.dsl.tool_loop.call_refusals import CallRefusal
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.values import Json, JsonValue


@dataclass(slots=True)
class OpenCall:
    """A call of the latest model turn."""

    tool: str
    arguments: Json = field(default_factory=dict[str, JsonValue])
    refusal: CallRefusal | None = None
    """Why it is not executed."""
    result: ToolResult | None = None
    """None while the call is open."""
    data: JsonValue = None
    """The result itself, where its success ends the loop."""
    started: float | None = None
    """Unix time at which it started."""
    attempts: int = 0
    """Attempts of a whole agent or team that have failed."""


@dataclass(slots=True)
class CallCount:
    """The calls of one tool so far."""

    calls: int = 0
    successes: int = 0
    failed_last: bool = False
    """Whether the latest call failed."""


@dataclass(slots=True)
class EqualCalls:
    """Calls of one tool with equal arguments."""

    tool: str
    times: int = 0
    """How many times in a row they gave the same result."""
    result: str = ""
    """Digest of that result."""


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """The model answered without a call."""

    code: Literal["answered"]


@dataclass(frozen=True, slots=True)
class AnswerFailed:
    """The latest turn has no answer that can be used."""

    code: Literal["answer_failed"]


@dataclass(frozen=True, slots=True)
class CallsHandedBack:
    """The calls of the latest turn are the step's data."""

    code: Literal["calls_returned"]


@dataclass(frozen=True, slots=True)
class ExitedOnSuccess:
    """A call with `exit_on_success` succeeded."""

    code: Literal["exited_on_success"]
    call: int
    """Its index in the latest turn."""
    tool: str


@dataclass(frozen=True, slots=True)
class HandoffMade:
    """The model hands off to a team."""

    code: Literal["handed_off"]
    call: int
    team: str


@dataclass(frozen=True, slots=True)
class UnmetPolicy:
    """A tool that was not called as often as its policy demands."""

    tool: str
    wanted: int
    counted: int
    require_success: bool = False


@dataclass(frozen=True, slots=True)
class PolicyUnmet:
    """No turns are left, and the policy still demands calls."""

    code: Literal["policy_unmet"]
    unmet: tuple[UnmetPolicy, ...] = ()


@dataclass(frozen=True, slots=True)
class StoppedByHook:
    """A hook failed or rejected."""

    code: Literal["stopped_by_hook"]
    type: str
    """Of the step's failure."""
    message: str


LoopEnd = Annotated[
    ModelAnswered
    | AnswerFailed
    | CallsHandedBack
    | ExitedOnSuccess
    | HandoffMade
    | PolicyUnmet
    | StoppedByHook,
    Field(discriminator="code"),
]
"""Why a tool loop ended."""


@dataclass(slots=True)
class ToolLoopProgress:
    """Everything that the next decision depends on."""

    turns: int = 0
    """Model turns that have ended, without re-asks."""
    reasks: int = 0
    calls: list[OpenCall] = field(default_factory=list[OpenCall])
    """Of the latest turn, in its order."""
    counts: dict[str, CallCount] = field(default_factory=dict[str, CallCount])
    equal_calls: dict[str, EqualCalls] = field(default_factory=dict[str, EqualCalls])
    """`{digest of tool and arguments: the calls}`."""
    code_calls: int = 0
    """Calls that the code of the latest turn has begun."""
    code_refusals: int = 0
    """Calls by this code that were refused."""
    unusable: bool = False
    """The latest answer must be given again."""
    unmet: bool = False
    """The latest answer came before the policy allowed it."""
    end: LoopEnd | None = None
    closed: int = 0
    """The latest turn after which the hooks were asked; only where there are hooks."""
    sent_back: int = 0
    """Answers that a hook has sent back, which do not count for `max_reasks`."""
    hook_retries: dict[str, int] = field(default_factory=dict[str, int])
    """`{hook: turns that it has sent back}`."""
