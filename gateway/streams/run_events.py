"""What a stream says of a run: one typed event for each event of its history.

Events of workflow tasks are none, except those that failed. The fields of an event depend on it
alone, and on the call that it belongs to: however a client comes to it, it is the same.
"""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from coterie.dsl.values import Frozen
from coterie.runs.ends.end_facts import ClosedState
from coterie.runs.histories.recorded_events import CallEnd

CallKind = Literal["turn", "skill", "other"]
"""A model turn, a call of a tool function, or other work, such as the start of a fork."""


class RunEventBase(Frozen):
    """What all events have."""

    run: str
    """The id of the run."""
    cursor: str
    at: str
    """ISO 8601, UTC."""


class ForkedFrom(Frozen):
    """The run that a run was forked from."""

    run: str
    run_id: str


class StartedEvent(RunEventBase):
    """A history begins: that of the run, or the next one after it continued as new."""

    type: Literal["started"] = "started"
    continues: str = ""
    """The run id of the history before; empty at the start of the run."""
    forked_from: ForkedFrom | None = None


class CallEventBase(RunEventBase):
    """What all events of a call have."""

    call: str = ""
    """Its id; empty if it began so much earlier that the reader has not seen it."""
    kind: CallKind = "other"
    step: str = ""
    """`team/path`."""


class CallScheduledEvent(CallEventBase):
    """A model turn or a tool function is called."""

    type: Literal["call_scheduled"] = "call_scheduled"
    event: int
    """The id of this event, by which later ones name it."""
    skill: str = ""
    turn: str = ""
    """The suffix of a model turn: `.t2`, `.r1`."""


class CallStartedEvent(CallEventBase):
    """The last attempt of a call has started; recorded together with its end."""

    type: Literal["call_started"] = "call_started"
    scheduled: int
    attempt: int
    error: str = ""
    """Of the attempt before."""


class CallLeftEvent(CallEventBase):
    """The run no longer waits for a call: its branch has lost, or somebody cancelled."""

    type: Literal["call_left"] = "call_left"
    scheduled: int


class CallEndedEvent(CallEventBase):
    """A call has ended."""

    type: Literal["call_ended"] = "call_ended"
    scheduled: int | None = None
    """None for a local activity, which has this event only."""
    took: float | None = None
    """Seconds since it was scheduled; None if the reader has not seen that."""
    skill: str = ""
    """Of a local activity."""
    end: CallEnd
    error: str = ""
    answer: JsonValue = None
    """Of a model turn."""
    reasoning: str = ""
    """What people may read of the model's thinking."""
    cut: bool = False
    """Whether the answer is left out because it is large."""
    model: str = ""
    tokens: int | None = None
    cost: float | None = None
    """US dollars."""


class TimerStartedEvent(RunEventBase):
    """A timer is set."""

    type: Literal["timer_started"] = "timer_started"
    seconds: float
    summary: str = ""


class TimerFiredEvent(RunEventBase):
    """A timer has fired."""

    type: Literal["timer_fired"] = "timer_fired"


class MessageReceivedEvent(RunEventBase):
    """A signal has arrived, or the run takes an update."""

    type: Literal["message_received"] = "message_received"
    form: Literal["signal", "update"]
    name: str
    event: int
    """The id of this event."""
    update: str = ""
    by: str = ""


class UpdateAnsweredEvent(RunEventBase):
    """The run has answered an update."""

    type: Literal["update_answered"] = "update_answered"
    accepted: int
    """The event with which it took the update."""
    update: str
    error: str = ""


class CancelRequestedEvent(RunEventBase):
    """Somebody has cancelled the run."""

    type: Literal["cancel_requested"] = "cancel_requested"


class TaskFailedEvent(RunEventBase):
    """A workflow task has failed: a defect, or a worker with other code."""

    type: Literal["task_failed"] = "task_failed"
    cause: str
    error: str = ""


class ResetEvent(RunEventBase):
    """The run was reset: it continues from this point of an earlier history."""

    type: Literal["reset"] = "reset"
    base: str
    """The run id of that history; its later events no longer count."""
    back_to: int
    """The last event of it that counts."""


class ContinuedEvent(RunEventBase):
    """The history ends, and the next one continues."""

    type: Literal["continued"] = "continued"
    next: str
    """The run id of the next history."""


class ClosedEvent(RunEventBase):
    """The run has ended; a reset may still continue it."""

    type: Literal["closed"] = "closed"
    state: ClosedState
    why: str = ""
    next: str = ""
    """The run id of the history that follows by a retry policy or a schedule."""


class OtherTypeEvent(RunEventBase):
    """An event of another type, such as a timer that was cancelled."""

    type: Literal["other"] = "other"
    name: str
    """As Temporal calls it: `TIMER_CANCELED`."""


RunEvent = Annotated[
    StartedEvent
    | CallScheduledEvent
    | CallStartedEvent
    | CallLeftEvent
    | CallEndedEvent
    | TimerStartedEvent
    | TimerFiredEvent
    | MessageReceivedEvent
    | UpdateAnsweredEvent
    | CancelRequestedEvent
    | TaskFailedEvent
    | ResetEvent
    | ContinuedEvent
    | ClosedEvent
    | OtherTypeEvent,
    Field(discriminator="type"),
]

_EVENT: TypeAdapter[RunEvent] = TypeAdapter(RunEvent)


def read_run_event(data: bytes) -> RunEvent:
    """Read an event from the JSON of a row."""
    return _EVENT.validate_json(data)
