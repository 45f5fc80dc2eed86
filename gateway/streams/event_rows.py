"""Read the events of one history as rows: what is kept of them, and sent to viewers."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, TypedDict

from pydantic import BaseModel, JsonValue, ValidationError

from coterie.activities.contracts import (
    CALL_FUNCTION,
    RUN_AGENT,
    AgentResponse,
    function_step,
    named_turn,
    reasoning_text,
)
from coterie.dsl.model.sections.temporal_document import OWN_ACTIVITIES
from coterie.dsl.sizes import json_size
from coterie.gateway.streams import run_events as events
from coterie.gateway.streams.cursors import Cursor
from coterie.runs.histories import recorded_events as recorded
from coterie.runs.histories.recorded_calls import local_call
from coterie.runs.histories.recorded_values import RecordedFailure
from coterie.workflows.core.messages import TeamInput

MAX_ANSWER = 16_384
"""Bytes of an answer in a row; a larger one is left out, and an operation returns it."""
_LOCAL = "core_local_activity"


@dataclass(frozen=True, slots=True)
class StreamRow:
    """One event, as it is kept and sent."""

    cursor: Cursor
    type: str
    data: bytes
    """The event in JSON."""


class EventPlace(TypedDict):
    """What all events have."""

    run: str
    cursor: str
    at: str


class CallName(NamedTuple):
    """What names a call."""

    call: str
    kind: events.CallKind
    step: str
    at: datetime | None = None
    """When it was scheduled; None if the reader has not seen that."""


_UNKNOWN = CallName("", "other", "")


class _Task(BaseModel):
    task: str = ""


class _NamedFunction(BaseModel):
    skill: str = ""


class _By(BaseModel):
    by: str = ""


class RowReader:
    """Reads one history in its order; remembers the calls in progress."""

    def __init__(self, run: str, first: str, run_id: str) -> None:
        """Take the id of the run, and the run ids of the chain and of the history."""
        self.run = run
        self._first = first
        self._run_id = run_id
        self._calls: dict[int, recorded.CallScheduled | CallName] = {}
        """`{event that scheduled a call in progress: the call}`."""

    @property
    def calls(self) -> dict[str, CallName]:
        """The calls in progress, by their ids."""
        named = (self._name(scheduled) for scheduled in self._calls)
        return {name.call: name for name in named}

    def rows(self, page: Iterable[recorded.RecordedEvent], after: int = 0) -> list[StreamRow]:
        """Return a row for each event with an id above `after`.

        Events that are not in order, or that were read before, are passed over.
        """
        return [
            StreamRow(cursor, made.type, made.model_dump_json(exclude_none=True).encode())
            for cursor, made in self.typed_events(page, after)
        ]

    def typed_events(
        self, page: Iterable[recorded.RecordedEvent], after: int = 0
    ) -> list[tuple[Cursor, events.RunEvent]]:
        """Return the events themselves; like `rows`."""
        found: list[tuple[Cursor, events.RunEvent]] = []
        for event in page:
            if event.id > after:
                if not isinstance(event, recorded.TaskEvent):
                    cursor = Cursor(self._first, self._run_id, event.id)
                    place = EventPlace(run=self.run, cursor=str(cursor), at=moment(event.at))
                    found.append((cursor, self._event(event, place)))
                    after = event.id
            elif isinstance(event, recorded.CallScheduled):
                self._calls[event.id] = event
            if isinstance(event, recorded.CallEnded):
                self._calls.pop(event.scheduled, None)
        for scheduled in self._calls:
            self._name(scheduled)  # keeps no event beyond its page
        return found

    def _name(self, scheduled: int) -> CallName:
        call = self._calls.get(scheduled, _UNKNOWN)
        if isinstance(call, recorded.CallScheduled):
            call = self._calls[scheduled] = _call_name(call)
        return call

    def _event(self, event: recorded.RecordedEvent, place: EventPlace) -> events.RunEvent:
        match event:
            case recorded.CallScheduled():
                self._calls[event.id] = event
                return _event_of_schedule(place, event, self._name(event.id))
            case recorded.CallStarted():
                call, kind, step, _ = self._name(event.scheduled)
                return events.CallStartedEvent(
                    **place,
                    call=call,
                    kind=kind,
                    step=step,
                    scheduled=event.scheduled,
                    attempt=event.attempt,
                    error=_text(event.failure),
                )
            case recorded.CallLeft():
                call, kind, step, _ = self._name(event.scheduled)
                return events.CallLeftEvent(
                    **place, call=call, kind=kind, step=step, scheduled=event.scheduled
                )
            case recorded.CallEnded():
                return _event_of_end(place, event, self._name(event.scheduled))
            case recorded.MarkerRecorded(name=name) if name == _LOCAL:
                return _event_of_local(place, event)
            case _:
                return _of_message(place, event) or _of_run(place, event)


def _of_message(place: EventPlace, event: recorded.RecordedEvent) -> events.RunEvent | None:
    match event:
        case recorded.TimerStarted(length=length, summary=summary):
            seconds = length.total_seconds()
            return events.TimerStartedEvent(**place, seconds=seconds, summary=summary)
        case recorded.TimerFired():
            return events.TimerFiredEvent(**place)
        case recorded.SignalReceived(id=id, name=name):
            by = _by(event)
            return events.MessageReceivedEvent(**place, form="signal", name=name, event=id, by=by)
        case recorded.UpdateAccepted(id=id, name=name, update=update):
            by = _by(event)
            return events.MessageReceivedEvent(
                **place, form="update", name=name, event=id, update=update, by=by
            )
        case recorded.UpdateCompleted(accepted=accepted, update=update):
            error = _text(event.failure)
            return events.UpdateAnsweredEvent(
                **place, accepted=accepted, update=update, error=error
            )
        case _:
            return None


def _of_run(place: EventPlace, event: recorded.RecordedEvent) -> events.RunEvent:
    match event:
        case recorded.RunStarted(previous=previous):
            origin = None if previous else _origin(event)
            return events.StartedEvent(**place, continues=previous, forked_from=origin)
        case recorded.CancelRequested():
            return events.CancelRequestedEvent(**place)
        case recorded.TaskFailure() if event.reset:
            return events.ResetEvent(**place, base=event.base, back_to=event.id - 1)
        case recorded.TaskFailure(cause=cause):
            return events.TaskFailedEvent(**place, cause=cause, error=_text(event.failure))
        case recorded.ContinuedAsNew():
            return events.ContinuedEvent(**place, next=event.next)
        case recorded.RunClosed(state=state, why=why, next=next):
            return events.ClosedEvent(**place, state=state, why=why, next=next)
        case recorded.OtherEvent():
            return events.OtherTypeEvent(**place, name=event.type)
        case recorded.MarkerRecorded():
            return events.OtherTypeEvent(**place, name=f"MARKER {event.name}")
        case _:
            return events.OtherTypeEvent(**place, name=type(event).__name__)


def _call_name(event: recorded.CallScheduled) -> CallName:
    match event.activity:
        case activity if activity == RUN_AGENT:
            return CallName(event.call, "turn", _turn(event)[0], event.at)
        case activity if activity == CALL_FUNCTION:
            function = event.value.read_if(_NamedFunction)
            step = function_step(event.summary, "" if function is None else function.skill)
            return CallName(event.call, "skill", step, event.at)
        case activity if activity not in OWN_ACTIVITIES:
            step = function_step(event.summary, _foreign_name(event))
            return CallName(event.call, "skill", step, event.at)
        case _:
            return CallName(event.call, "other", event.summary, event.at)


def _foreign_name(event: recorded.CallScheduled) -> str:
    """Return what the run itself calls on Temporal, as the worker's configuration names it."""
    return event.summary.rpartition(": ")[2]


def _called_name(event: recorded.CallScheduled) -> str:
    if event.activity not in OWN_ACTIVITIES:
        return _foreign_name(event)
    function = event.value.read_if(_NamedFunction)
    return "" if function is None else function.skill


def _turn(event: recorded.CallScheduled) -> tuple[str, str]:
    asked = event.value.read_if(_Task)
    step, suffix = named_turn(event.summary, "" if asked is None else asked.task)
    return step, str(suffix)


def _event_of_schedule(
    place: EventPlace, event: recorded.CallScheduled, name: CallName
) -> events.CallScheduledEvent:
    return events.CallScheduledEvent(
        **place,
        call=name.call,
        kind=name.kind,
        step=name.step,
        event=event.id,
        skill=_called_name(event) if name.kind == "skill" else "",
        turn=_turn(event)[1] if name.kind == "turn" else "",
    )


def _event_of_end(
    place: EventPlace, event: recorded.CallEnded, name: CallName
) -> events.CallEndedEvent:
    is_answer = event.end == "completed" and name.kind == "turn"
    response = event.value.read_if(AgentResponse) if is_answer else None
    answer: JsonValue = None
    is_cut = is_answer  # a value that is stored elsewhere is large
    error = _text(event.failure)
    if response is not None:
        is_cut = json_size(response.data) > MAX_ANSWER
        answer = None if is_cut else response.data
        error = "" if response.error is None else f"{response.error.type}: {response.error.message}"
    usage = None if response is None else response.usage
    return events.CallEndedEvent(
        **place,
        call=name.call,
        kind=name.kind,
        step=name.step,
        scheduled=event.scheduled,
        took=None if name.at is None else _milliseconds(name.at, event.at) / 1000,
        end=event.end,
        error=error,
        answer=answer,
        reasoning="" if response is None else reasoning_text(response.reasoning),
        cut=is_cut,
        model="" if response is None else response.model or "",
        tokens=None if usage is None else usage.total,
        cost=None if response is None else response.cost,
    )


def _event_of_local(place: EventPlace, event: recorded.MarkerRecorded) -> events.RunEvent:
    found = local_call(event)
    if found is None:
        return events.OtherTypeEvent(**place, name=f"MARKER {event.name}")
    call = found[1]
    failed = event.failure is not None
    return events.CallEndedEvent(
        **place,
        call=call.id,
        kind="skill",
        step=call.path,
        skill=event.summary.rpartition(": ")[2],
        took=round(call.seconds, 3),
        end="failed" if failed else "completed",
        error=_text(event.failure),
    )


def _origin(event: recorded.RunStarted) -> events.ForkedFrom | None:
    team_input = event.value.read_if(TeamInput)
    fork = None if team_input is None else team_input.fork
    return None if fork is None else events.ForkedFrom(run=fork.run, run_id=fork.run_id or "")


def _by(event: recorded.SignalReceived | recorded.UpdateAccepted) -> str:
    try:
        value = event.value.read_if(_By)
    except (ValidationError, TypeError, KeyError):
        return ""
    return "" if value is None else value.by


def _text(failure: RecordedFailure | None) -> str:
    return "" if failure is None else failure.text


def _milliseconds(begin: datetime, end: datetime) -> int:
    """Return the time between two moments as `moment` formats them."""
    whole = [at.replace(microsecond=at.microsecond // 1000 * 1000) for at in (begin, end)]
    return (whole[1] - whole[0]) // timedelta(milliseconds=1)


def moment(at: datetime) -> str:
    """Format a time as the events have it."""
    return at.isoformat(timespec="milliseconds")
