"""Causes that people give: decisions, and what they ask of a run."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from coterie.dsl.model.causes import ConditionFound, SentOn
from coterie.dsl.model.outcomes import Failure


@dataclass(frozen=True, slots=True)
class RequestDecided:
    """Somebody decided a request."""

    code: Literal["decided"]
    request: str
    verdict: str
    by: str
    comment: str = ""
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """The condition of an approval held, or could not be evaluated, so a person is asked."""

    code: Literal["approval_asked"]
    step: str
    """`team/path` of the step."""
    condition: ConditionFound | None = None
    """None if it is too long to show, or could not be evaluated."""
    failure: Failure | None = None
    """Why it could not be evaluated."""


@dataclass(frozen=True, slots=True)
class ApprovalNotAsked:
    """The condition of an approval did not hold, so nobody was asked."""

    code: Literal["not_asked"]
    step: str
    """`team/path` of the step."""
    condition: ConditionFound | None = None
    """None if it is too long to show."""


@dataclass(frozen=True, slots=True)
class RequestReminded:
    """A request still waits."""

    code: Literal["reminded"]
    request: str
    number: int


@dataclass(frozen=True, slots=True)
class RequestEscalated:
    """Further people may decide a request."""

    code: Literal["escalated"]
    request: str
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PauseChanged:
    """A person paused or resumed the run."""

    code: Literal["paused", "resumed"]
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Amended:
    """A person changed the context."""

    code: Literal["amended"]
    paths: tuple[str, ...]
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class PersonSaid:
    """A person said something to an agent at work."""

    code: Literal["said"]
    step: str
    """`team/path` of the agent."""
    by: str
    text: str
    """Shortened."""


@dataclass(frozen=True, slots=True)
class MessagesRead:
    """A turn of an agent has what people said to it; or it ended before it read that."""

    code: Literal["messages_read", "messages_unread"]
    turn: int
    """0: none."""
    by: tuple[str, ...]
    texts: tuple[str, ...]
    """Shortened."""


@dataclass(frozen=True, slots=True)
class AmendRefused:
    """The context could not be changed at the next boundary."""

    code: Literal["amend_refused"]
    asked: Amended
    message: str = ""


@dataclass(frozen=True, slots=True)
class TooLate:
    """The run ended before it could do what a person asked for."""

    code: Literal["too_late"]
    asked: Annotated[Amended | SentOn, Field(discriminator="code")]


@dataclass(frozen=True, slots=True)
class NotBegun:
    """A person redirected the run before a team began."""

    code: Literal["not_begun"]
    team: str
    sent: SentOn


@dataclass(frozen=True, slots=True)
class SkipAsked:
    """A person skips a task, now or when it starts."""

    code: Literal["skip_asked"]
    task: str
    by: str
    why: str = ""


PeopleCause = (
    RequestDecided
    | ApprovalAsked
    | ApprovalNotAsked
    | RequestReminded
    | RequestEscalated
    | PauseChanged
    | Amended
    | PersonSaid
    | MessagesRead
    | AmendRefused
    | TooLate
    | NotBegun
    | SkipAsked
)
"""What people decided or asked, and how a request went on."""
