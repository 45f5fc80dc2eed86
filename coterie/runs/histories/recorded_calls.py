"""Read the calls of steps from a run's history: requests, attempts, results.

A local activity is one marker, written when it ended. Temporal does not record what it was asked; a
tool function's result repeats it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel, JsonValue
from temporalio.client import WorkflowHistory

from coterie.activities.agents.prompts import system_message, user_message
from coterie.activities.contracts import (
    CALL_FUNCTION,
    RUN_AGENT,
    AgentRequest,
    AgentResponse,
    FailureType,
    FunctionRequest,
    FunctionResult,
    TurnSuffix,
    function_step,
    named_turn,
)
from coterie.dsl.errors import TemplateFailed
from coterie.dsl.model.outcomes import Failure
from coterie.dsl.model.sections.temporal_document import OWN_ACTIVITIES
from coterie.runs.histories.history_events import read_events
from coterie.runs.histories.recorded_events import (
    CallEnd,
    CallEnded,
    CallScheduled,
    CallStarted,
    MarkerRecorded,
    RecordedEvent,
)
from coterie.runs.histories.recorded_values import NO_VALUE, RecordedFailure, RecordedValue
from coterie.workflows.core.state_keys import FunctionCallKey, StepKey
from coterie.workflows.core.views import TrailEntry

_LOCAL = "core_local_activity"
_MOMENT = timedelta(microseconds=1)


@dataclass(slots=True)
class RecordedCall:
    """One model turn or one function call."""

    id: str
    path: str
    """`team/path of the step`."""
    visit: int
    scheduled: datetime
    request: AgentRequest | FunctionRequest
    """What was asked; of a failed local activity, only which tool function."""
    suffix: TurnSuffix = field(default_factory=TurnSuffix)
    """Of a model turn."""
    attempts: int = 0
    started: datetime | None = None
    """Start of the last attempt."""
    earlier_failure: RecordedFailure | None = None
    """Of the attempt before the last one."""
    ended: datetime | None = None
    end: CallEnd | None = None
    answer: AgentResponse | FunctionResult | None = None
    failure: RecordedFailure | None = None
    """Why the call failed after all attempts."""
    is_local: bool = False
    """Whether it was a local activity."""
    is_foreign: bool = False
    """Whether the run itself called what others have on Temporal."""
    ends_at_start: bool = False
    """Whether it ends when what it starts has begun."""

    @property
    def waited(self) -> float:
        """Seconds from the call to its last attempt: queueing and retry intervals."""
        return 0.0 if self.started is None else (self.started - self.scheduled).total_seconds()

    @property
    def seconds(self) -> float:
        """From the request to the end, including retries."""
        if self.is_local and isinstance(self.answer, FunctionResult):
            return self.answer.seconds
        return 0.0 if self.ended is None else (self.ended - self.scheduled).total_seconds()

    @property
    def earlier_error(self) -> str:
        """Why the attempt before the last one failed; empty if it did not."""
        return "" if self.earlier_failure is None else self.earlier_failure.text

    @property
    def error(self) -> str:
        """Why the call failed after all attempts; empty if it did not."""
        return "" if self.failure is None else self.failure.text

    @property
    def outcome(self) -> AgentResponse | FunctionResult | Failure | None:
        """What the run saw of its end; None if nothing, or if the history lacks what was asked."""
        match self.end:
            case "completed":
                return self.answer
            case "failed" if self.failure is not None and not self.is_local:
                return Failure(type=self.failure.type or "Error", message=self.failure.message)
            case "timed out":
                return Failure(type="Timeout", message="it did not answer in time")
            case _:
                return None


def recorded_calls(history: WorkflowHistory) -> list[RecordedCall]:
    """Read every call of a history, in the order of scheduling."""
    return list(calls_by_event(read_events(history.events)).values())


def calls_by_event(events: Iterable[RecordedEvent]) -> dict[int, RecordedCall]:
    """Return the calls of some events of one history, by the event that schedules each.

    The markers of one workflow task stand in the order in which their calls ended; the calls are
    returned in the order in which they began.
    """
    calls: dict[int, RecordedCall] = {}
    local: dict[int, list[tuple[int, RecordedCall]]] = {}
    """`{workflow task: its local calls, each with its number}`."""
    places: dict[int, int] = {}
    for event in events:
        match event:
            case CallScheduled():
                call = _call(event)
                if call is not None:
                    calls[event.id] = call
            case CallStarted() if event.scheduled in calls:
                _start(calls[event.scheduled], event)
            case CallEnded() if event.scheduled in calls:
                _end(calls[event.scheduled], event)
            case MarkerRecorded(name=name) if name == _LOCAL:
                numbered_call = local_call(event)
                if numbered_call is not None:
                    local.setdefault(event.task, []).append(numbered_call)
                    places[event.id] = event.task
                    calls[event.id] = numbered_call[1]
            case _:
                pass
    local_calls = {
        task: iter(sorted(numbered_calls, key=lambda pair: pair[0]))
        for task, numbered_calls in local.items()
    }
    return {
        id: next(local_calls[places[id]])[1] if id in places else call for id, call in calls.items()
    }


def in_visits(calls: Sequence[RecordedCall], trail: Sequence[TrailEntry]) -> None:
    """Assign each call to the visit of its team at the time of scheduling."""
    began = [
        (entry.team, entry.visit, datetime.fromisoformat(entry.at))
        for entry in trail
        if entry.kind == "team"
    ]
    for call in calls:
        team = StepKey(call.path).team
        visits = [visit for name, visit, at in began if name == team and at <= call.scheduled]
        call.visit = visits[-1] if visits else call.visit


def filled_prompts(request: AgentRequest) -> tuple[str | None, str]:
    """Return the system prompt and the prompt as sent to the model, or why they are unknown."""
    if request.tool_turn is not None and request.tool_turn.continues:
        return None, ""
    if request.persona is None:
        return None, "the agent class builds its own prompts"
    try:
        system = system_message(request.persona, request.inputs)
        return system, user_message(request.persona, request.inputs, request.task)
    except (TemplateFailed, KeyError) as error:
        return None, f"the prompt could not be rendered: {error}"


def _call(event: CallScheduled) -> RecordedCall | None:
    """Return the call that an event schedules; None for another activity."""
    if (
        event.activity == CALL_FUNCTION
        and (function := event.value.read_if(FunctionRequest)) is not None
    ):
        path, visit = (
            function_step(event.summary, function.skill),
            FunctionCallKey(function.key).execution,
        )
        return RecordedCall(event.call, path, visit, event.at, function)
    if event.activity == RUN_AGENT and (agent := event.value.read_if(AgentRequest)) is not None:
        path, suffix = named_turn(event.summary, agent.task)
        return RecordedCall(event.call, path, agent.visit, event.at, agent, suffix)
    return None if event.activity in OWN_ACTIVITIES else _foreign_call(event)


def _foreign_call(event: CallScheduled) -> RecordedCall | None:
    """Return the call of an activity, a workflow or a Nexus operation of others."""
    function = event.summary.rpartition(": ")[2]
    path = function_step(event.summary, function)
    request = FunctionRequest(skill=function, input=foreign_json(event.value), key="")
    call = RecordedCall(event.call, path, 1, event.at, request)
    call.is_foreign, call.ends_at_start = True, event.ends_at_start
    if event.starts_unseen:
        call.started, call.attempts = event.at, 1
    return call


def _start(call: RecordedCall, event: CallStarted) -> None:
    call.started, call.attempts, call.earlier_failure = event.at, event.attempt, event.failure
    if call.ends_at_start:
        call.ended, call.end, call.answer = event.at, "completed", FunctionResult()


def _end(call: RecordedCall, event: CallEnded) -> None:
    if call.ends_at_start and call.end is not None:
        return  # the run did not wait for it
    call.ended, call.end, call.failure = event.at, event.end, event.failure
    if call.is_foreign:
        data = foreign_json(event.value)
        call.answer = FunctionResult(data=data) if event.end == "completed" else None
        return
    model = AgentResponse if isinstance(call.request, AgentRequest) else FunctionResult
    call.answer = event.value.read_if(model)


def foreign_json(value: RecordedValue) -> JsonValue:
    """Return what others have encoded; null for what only they can read."""
    try:
        return value.json
    except (ValueError, RuntimeError, KeyError):
        return None


class _Moment(BaseModel):
    seconds: int = 0
    nanos: int = 0


class _LocalData(BaseModel):
    """What the SDK keeps of a local activity beside its result."""

    seq: int = 0
    """Its number, in the order in which the run began them."""
    activity_id: str = ""
    activity_type: str = ""
    complete_time: _Moment = _Moment()
    """By the run's clock."""


def local_call(marker: MarkerRecorded) -> tuple[int, RecordedCall] | None:
    """Return the function call that a marker stands for, with its number.

    A call that its worker has handed on to an activity is none.
    """
    data = marker.details.get("data", NO_VALUE).read_if(_LocalData)
    if data is None or data.activity_type != CALL_FUNCTION:
        return None
    if marker.failure is not None and marker.failure.type == FailureType.NOT_LOCAL:
        return None
    result = marker.details.get("result", NO_VALUE).read_if(FunctionResult)
    function = marker.summary.rpartition(": ")[2]
    request = (None if result is None else result.request) or FunctionRequest(
        skill=function, key=""
    )
    at = data.complete_time
    ended_at = datetime.fromtimestamp(at.seconds + at.nanos / 1e9, UTC)
    began = ended_at - _MOMENT  # a visit that begins when the call has ended does not own it
    return data.seq, RecordedCall(
        data.activity_id,
        function_step(marker.summary, request.skill),
        FunctionCallKey(request.key).execution if result is not None else 1,
        began,
        request,
        attempts=1,
        started=began,
        ended=ended_at,
        end="completed" if marker.failure is None else "failed",
        answer=None if result is None else result.model_copy(update={"request": None}),
        failure=marker.failure,
        is_local=True,
    )
