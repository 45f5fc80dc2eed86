"""Recorded events: what the events of a history say, as typed facts.

A reader asks for the value of an event, as what it expects; so large values cost those who ask.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from pydantic import ValidationError
from temporalio.api.common.v1 import RetryPolicy

from coterie.dsl.model.outcomes import Failure as RunFailure
from coterie.failures import CommandError
from coterie.runs.ends.end_facts import ClosedState, RunEnd
from coterie.runs.histories.recorded_values import NO_VALUE, RecordedFailure, RecordedValue
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.senders import Sender
from coterie.workflows.core.views import TeamResult


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """One event."""

    id: int
    at: datetime


@dataclass(frozen=True, slots=True)
class RunStarted(RecordedEvent):
    """The first event of a history."""

    queue: str
    value: RecordedValue
    previous: str
    """The run id of the history before continue-as-new; empty if there is none."""
    memo: Mapping[str, str]
    first: str = ""
    """The run id of the first history of the chain."""
    original: str = ""
    """Its own run id; of a reset run, the one whose start this event repeats."""
    sender: Sender | None = None

    @property
    def input(self) -> TeamInput:
        """The input of the run."""
        return self.value.read(TeamInput)


@dataclass(frozen=True, slots=True)
class TaskEvent(RecordedEvent):
    """A workflow task is scheduled, started or completed.

    A server may deliver the first two before they are recorded, and record another event in their
    place.
    """


@dataclass(frozen=True, slots=True)
class TaskFailure(RecordedEvent):
    """A workflow task has failed: a defect, other code, or a reset."""

    cause: str
    failure: RecordedFailure | None
    base: str
    """Of a reset: the run id of the history that this one repeats up to here."""
    reset: str
    """Of a reset: the run id of the history that begins here."""


@dataclass(frozen=True, slots=True)
class OtherEvent(RecordedEvent):
    """An event that only its type tells."""

    type: str
    """`TIMER_CANCELED`."""


@dataclass(frozen=True, slots=True)
class CallScheduled(RecordedEvent):
    """An activity, a workflow of others or a Nexus operation is scheduled."""

    call: str
    """Its activity id."""
    activity: str
    """Its type."""
    queue: str
    value: RecordedValue
    timeout: timedelta
    retry: RetryPolicy
    summary: str
    ends_at_start: bool = False
    """Whether nobody waits for its end: a workflow that outlives the run."""
    starts_unseen: bool = False
    """Whether it may have begun although no event says so: a Nexus operation."""


@dataclass(frozen=True, slots=True)
class CallStarted(RecordedEvent):
    """The last attempt of an activity has started."""

    scheduled: int
    attempt: int
    failure: RecordedFailure | None
    """Of the attempt before."""


CallEnd = Literal["completed", "failed", "timed out", "cancelled"]


@dataclass(frozen=True, slots=True)
class CallLeft(RecordedEvent):
    """The run no longer waits for an activity: its branch has lost, or somebody cancelled."""

    scheduled: int


@dataclass(frozen=True, slots=True)
class CallEnded(RecordedEvent):
    """An activity has ended, after all its attempts."""

    scheduled: int
    end: CallEnd
    value: RecordedValue = NO_VALUE
    failure: RecordedFailure | None = None


@dataclass(frozen=True, slots=True)
class MarkerRecorded(RecordedEvent):
    """A marker: of a local activity, or of a patch."""

    name: str
    task: int
    """The event that completed its workflow task."""
    details: Mapping[str, RecordedValue]
    failure: RecordedFailure | None
    summary: str


@dataclass(frozen=True, slots=True)
class TimerFired(RecordedEvent):
    """A timer has fired."""


@dataclass(frozen=True, slots=True)
class TimerStarted(RecordedEvent):
    """A timer is set."""

    timer: str
    length: timedelta
    summary: str


@dataclass(frozen=True, slots=True)
class SignalReceived(RecordedEvent):
    """A signal has arrived."""

    name: str
    value: RecordedValue
    sender: Sender | None = None


@dataclass(frozen=True, slots=True)
class UpdateAccepted(RecordedEvent):
    """The run takes an update."""

    name: str
    value: RecordedValue
    update: str
    """Its id, as the client chose it."""
    instance: str
    """Its id, as the server chose it."""
    sender: Sender | None = None


@dataclass(frozen=True, slots=True)
class UpdateCompleted(RecordedEvent):
    """The run has answered an update."""

    accepted: int
    update: str
    value: RecordedValue | None
    failure: RecordedFailure | None


@dataclass(frozen=True, slots=True)
class CancelRequested(RecordedEvent):
    """Somebody has cancelled the run."""

    reason: str = ""
    sender: Sender | None = None


@dataclass(frozen=True, slots=True)
class ContinuedAsNew(RecordedEvent):
    """The history ends, and the next one continues with this state."""

    value: RecordedValue
    next: str = ""
    """The run id of the next history."""


@dataclass(frozen=True, slots=True)
class RunClosed(RecordedEvent):
    """The last event of a run that has ended."""

    state: ClosedState
    value: RecordedValue = NO_VALUE
    failure: RecordedFailure | None = None
    reason: str = ""
    """Of a termination."""
    next: str = ""
    """The run id of the history that follows by a retry policy or a schedule; empty if none."""

    @property
    def why(self) -> str:
        """The message of its failure, or the reason of its termination."""
        return self.reason if self.failure is None else self.failure.message

    @property
    def end(self) -> RunEnd:
        """How the run ended.

        Raises:
            CommandError: Its result is not that of a run of ours.
        """
        if self.failure is None:
            return RunEnd(self.state, _result_in(self.value), details=self.reason)
        failure = RunFailure(type=self.failure.type or "Failed", message=self.failure.message)
        return RunEnd(self.state, _result_in(self.failure.details), failure)


def _result_in(value: RecordedValue) -> TeamResult | None:
    if not value.payloads:
        return None
    try:
        return value.read(TeamResult)
    except (ValidationError, RuntimeError):
        raise CommandError(
            "this is not the history of a Coterie run: its result has another form"
        ) from None
