"""Read the calls of a step from the run's history: requests, attempts, results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from coterie.activities.agents.prompts import system_message, user_message
from coterie.activities.contracts import (
    CALL_SKILL,
    RUN_AGENT,
    AgentRequest,
    AgentResponse,
    SkillRequest,
    SkillResult,
    TurnSuffix,
    named_turn,
    skill_step,
)
from coterie.dsl.errors import TemplateFailed
from coterie.dsl.visible import shortened_text
from coterie.runs.in_process.local_calls import LocalCall, local_calls
from coterie.storage.wire import data_converter, text_of
from coterie.workflows.core.state_keys import SkillCallKey, StepKey
from coterie.workflows.core.views import TrailEntry

Model = TypeVar("Model", bound=BaseModel)
_MAX_ERROR_LENGTH = 500
_MOMENT = timedelta(microseconds=1)


@dataclass(slots=True)
class RecordedCall:
    """One model turn or one skill call."""

    id: str
    path: str
    """`team/path of the step`."""
    visit: int
    scheduled: datetime
    request: AgentRequest | SkillRequest
    suffix: TurnSuffix = field(default_factory=TurnSuffix)
    """Of a model turn."""
    attempts: int = 0
    started: datetime | None = None
    """Start of the last attempt."""
    earlier_error: str = ""
    """Why the attempt before the last one failed."""
    ended: datetime | None = None
    answer: AgentResponse | SkillResult | None = None
    error: str = ""
    """Why the call failed after all attempts."""
    notes: list[str] = field(default_factory=list[str])
    is_local: bool = False
    """Whether it was a local activity; the arguments of a failed one are not recorded."""

    @property
    def waited(self) -> float:
        """Seconds from the call to its last attempt: queueing and retry intervals."""
        return 0.0 if self.started is None else (self.started - self.scheduled).total_seconds()


def recorded_calls(history: WorkflowHistory) -> list[RecordedCall]:
    """Read every call of a history, in the order of scheduling."""
    calls: dict[int, RecordedCall] = {}
    local = local_calls(history.events)
    for event in history.events:
        if event.event_id in local:
            calls[event.event_id] = _local(local[event.event_id])
            continue
        if event.HasField("activity_task_scheduled_event_attributes"):
            made = _call(event)
            if made is not None:
                calls[event.event_id] = made
            continue
        for number, ended in _ends(event):
            if number in calls:
                _take(calls[number], event, ended)
    return list(calls.values())


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


def _call(event: HistoryEvent) -> RecordedCall | None:
    """Return the call that an event schedules; None for another activity."""
    scheduled = event.activity_task_scheduled_event_attributes
    id, (given, *_) = scheduled.activity_id, (*scheduled.input.payloads, Payload())
    at, summary = event.event_time.ToDatetime(UTC), text_of(event.user_metadata.summary)
    match scheduled.activity_type.name:
        case name if name == CALL_SKILL:
            skill = _decode_payload(given, SkillRequest)
            if skill is None:
                return None
            path, visit = skill_step(summary, skill.skill), SkillCallKey(skill.key).execution
            return RecordedCall(id, path, visit, at, skill)
        case name if name == RUN_AGENT:
            agent = _decode_payload(given, AgentRequest)
            if agent is None:
                return None
            path, suffix = named_turn(summary, agent.task)
            return RecordedCall(id, path, agent.visit, at, agent, suffix)
        case _:
            return None


def _local(local: LocalCall) -> RecordedCall:
    path = skill_step(local.summary, local.request.skill)
    visit = SkillCallKey(local.request.key).execution if local.result is not None else 1
    began = local.ended - _MOMENT  # a visit that begins when the call has ended does not own it
    call = RecordedCall(local.id, path, visit, began, local.request, attempts=1, started=began)
    call.is_local, call.ended = True, local.ended
    if local.result is not None:
        call.answer = local.result.model_copy(update={"request": None})
    if local.failure is not None:
        call.error = _failure(local.failure)
    return call


def _ends(event: HistoryEvent) -> Iterator[tuple[int, str]]:
    for kind in ("started", "completed", "failed", "timed_out", "canceled"):
        name = f"activity_task_{kind}_event_attributes"
        if event.HasField(name):  # type: ignore[arg-type]
            yield getattr(event, name).scheduled_event_id, kind


def _take(call: RecordedCall, event: HistoryEvent, kind: str) -> None:
    at = event.event_time.ToDatetime(UTC)
    if kind == "started":
        started = event.activity_task_started_event_attributes
        call.started, call.attempts = at, started.attempt
        if started.HasField("last_failure"):
            call.earlier_error = _failure(started.last_failure)
        return
    call.ended = at
    if kind == "completed":
        result = event.activity_task_completed_event_attributes.result
        model = AgentResponse if isinstance(call.request, AgentRequest) else SkillResult
        call.answer = next(
            (found for one in result.payloads if (found := _decode_payload(one, model))), None
        )
    elif kind == "failed":
        call.error = _failure(event.activity_task_failed_event_attributes.failure)
    elif kind == "timed_out":
        call.error = _failure(event.activity_task_timed_out_event_attributes.failure)
    else:
        call.error = "cancelled"


def _failure(failure: Failure) -> str:
    kind = failure.application_failure_info.type
    message = f"{kind}: {failure.message}" if kind else failure.message
    if failure.HasField("cause"):
        message += f" ({_failure(failure.cause)})"
    return shortened_text(message, _MAX_ERROR_LENGTH)


def _decode_payload(payload: Payload, model: type[Model]) -> Model | None:
    try:
        value = data_converter.payload_converter.from_payload(payload, model)
    except (ValidationError, ValueError, RuntimeError):
        return None
    return value if isinstance(value, model) else None
