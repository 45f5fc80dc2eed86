"""A message to people about a request."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from coterie.dsl.model.capabilities import KeptLabel
from coterie.dsl.sizes import MAX_ID_SIZE, MAX_NAME_LENGTH
from coterie.dsl.values import Frozen

NotificationKind = Literal["request", "reminder", "escalation", "timeout", "state"]
"""`state`: to a program, that the run waits, works again, or has ended."""

TaskStanding = Literal["working", "input_required", "completed", "failed", "canceled"]
"""Where a run is, in the terms of A2A."""


class PushTarget(Frozen):
    """The address of an A2A client that wants to know where a run is; never what it says."""

    url: str
    token: str = ""
    """Proves to the receiver that the message belongs to its task."""
    context: str
    """The conversation of the task."""
    state: TaskStanding


class Notification(Frozen):
    """A message to people about a request that waits for them, once per event."""

    id: str
    """The same for every attempt, so that receivers can drop duplicates."""
    channel: str
    """The name of a channel in the worker's configuration."""
    what: NotificationKind
    number: int = 1
    """Ordinal of the reminder or escalation, from 1."""
    text: str
    """One sentence."""
    run: str
    plan: str
    request: str
    """`team/step#number`; the number counts the step's requests in the run."""
    prompt: str
    show: JsonValue = None
    """The value to show, if it is small."""
    subject: JsonValue = None
    """What may change files, if it is too large for `show`, or `show` is something else: the worker
    sends only its diff.
    """
    call: str = ""
    """The tool function, function or server's tool that would run, if it may change something."""
    asked_because: str = ""
    """What the condition of the approval found: `context.amount is 120 (greater_than 100)`."""
    digest: str
    approvers: tuple[str, ...] = ()
    """Who may decide; anyone when empty."""
    quorum: int = 1
    since: str
    deadline: str | None = None
    on_timeout: str | None = None
    push: PushTarget | None = None
    """Of `state`: where it goes, in place of a channel."""
    labels: tuple[KeptLabel, ...] = ()
    """What the run has met: private data, text that others wrote."""


class SlackChoice(Frozen):
    """What a button in Slack is about: the request as the message shows it."""

    run: Annotated[str, Field(min_length=1, max_length=MAX_ID_SIZE)]
    request: Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
    digest: Annotated[str, Field(min_length=1, max_length=200)]
