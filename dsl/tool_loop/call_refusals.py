"""Refusals: why a call of a model is not executed, as facts. The model gets them as text."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field


@dataclass(frozen=True, slots=True)
class UnknownToolCalled:
    """No such tool is offered."""

    code: Literal["unknown_tool"]
    tool: str
    offered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArgumentsUnusable:
    """The arguments are not JSON, or do not match the tool's schema."""

    code: Literal["invalid_arguments"]
    tool: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallsUsedUp:
    """The tool has been called as often as its policy allows."""

    code: Literal["calls_used_up"]
    tool: str
    allowed: int


@dataclass(frozen=True, slots=True)
class TooManyOfTurn:
    """The turn asks for more calls than one turn may."""

    code: Literal["too_many_of_turn"]
    tool: str
    allowed: int


@dataclass(frozen=True, slots=True)
class RepeatedTooOften:
    """The same call gave the same result again and again."""

    code: Literal["repeated_too_often"]
    tool: str
    times: int


@dataclass(frozen=True, slots=True)
class HandoffTooEarly:
    """The policy demands calls before the agent may hand over."""

    code: Literal["handoff_too_early"]
    tool: str
    unmet: tuple[str, ...] = ()
    """The tools that must be called first."""


LeftOut = Literal["handed_off", "calls_returned", "others_invalid", "stopped_by_hook"]
"""Why a turn leaves a valid call out: another hands over, the calls are the step's data, others
of the turn are invalid, or a hook has stopped the agent."""


@dataclass(frozen=True, slots=True)
class NotExecuted:
    """The call stands beside others that end or stop the turn."""

    code: LeftOut
    tool: str


@dataclass(frozen=True, slots=True)
class SentBack:
    """A hook wants the whole turn again."""

    code: Literal["sent_back"]
    tool: str
    reason: str


CallRefusal = Annotated[
    UnknownToolCalled
    | ArgumentsUnusable
    | CallsUsedUp
    | TooManyOfTurn
    | RepeatedTooOften
    | HandoffTooEarly
    | NotExecuted
    | SentBack,
    Field(discriminator="code"),
]
"""Why a call is not executed."""
