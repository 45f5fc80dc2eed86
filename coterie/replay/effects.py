"""Describe a run's effects on the world, in one form for its history and for a replay.

Temporal's own replayer compares kinds and ids. The input of a call, the duration of a timer, the
answer to a person and the result of the run can differ under the same id.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from google.protobuf.json_format import MessageToDict
from pydantic import JsonValue
from temporalio.api.common.v1 import RetryPolicy
from temporalio.bridge.proto.workflow_commands import WorkflowCommand
from temporalio.client import WorkflowHistory

from coterie.activities.contracts import NOTIFY
from coterie.dsl.values import Json
from coterie.runs.histories.history_events import read_events, started
from coterie.runs.histories.recorded_events import (
    CallScheduled,
    ContinuedAsNew,
    RecordedEvent,
    RunClosed,
    TimerStarted,
    UpdateAccepted,
    UpdateCompleted,
)
from coterie.runs.histories.recorded_values import RecordedValue
from coterie.storage.wire import text_of

Kind = Literal["call", "timer", "answer", "end"]


@dataclass(frozen=True, slots=True)
class WorldEffect:
    """One effect, with everything that was decided about it."""

    kind: Kind
    key: str
    """Identifies the effect: an activity's id, a timer's number, an update's id."""
    facts: Json
    label: str = ""
    """Name for people: the summary of a call or a timer."""

    @property
    def description(self) -> str:
        """A description for people."""
        match self.kind:
            case "call":
                return f"the call {self.key} ({self.label})"
            case "timer":
                return f"timer {self.key} ({self.label})"
            case "answer":
                return f"the answer to update {self.key}"
            case "end":
                return "the end"


def call(
    id: str,
    activity: str,
    queue: str | None,
    given: JsonValue,
    timeout: timedelta,
    retry: RetryPolicy,
    summary: str,
) -> WorldEffect:
    """Describe a call; `queue` is None for the run's own queue."""
    if activity == NOTIFY and isinstance(given, dict):
        given = {key: value for key, value in given.items() if key != "text"}  # text for people
    facts: Json = {
        "activity": activity,
        "task_queue": queue,
        "input": given,
        "timeout": timeout.total_seconds(),
        "retry": MessageToDict(retry),
        "summary": summary,
    }
    return WorldEffect("call", id, facts, summary)


def timer(id: str, runs: timedelta, summary: str) -> WorldEffect:
    """Describe a timer, as started for a deadline or a wait."""
    return WorldEffect("timer", id, {"seconds": runs.total_seconds(), "summary": summary}, summary)


def answer(id: str, said: JsonValue) -> WorldEffect:
    """Describe the answer to a decision, an amendment or a redirect."""
    return WorldEffect("answer", id, {"answer": said})


def end(how: str, came_to: JsonValue, message: str = "") -> WorldEffect:
    """Describe how the run ended: its result, or the state with which it continued as new."""
    facts: Json = {"ended": how}
    if message:
        facts["message"] = message
    if isinstance(came_to, dict):
        facts |= came_to
    elif came_to is not None:
        facts["result"] = came_to
    return WorldEffect("end", "", facts)


def recorded(history: WorkflowHistory) -> list[WorldEffect]:
    """List the effects, in the order of the events."""
    own_queue = started(history).queue
    effects: list[WorldEffect] = []
    instances: dict[int, str] = {}
    for event in read_events(history.events):
        if isinstance(event, UpdateAccepted) and event.instance:
            instances[event.id] = event.instance
        effect = _effect(event, own_queue, instances)
        if effect is not None:
            effects.append(effect)
    return effects


def _effect(event: RecordedEvent, own_queue: str, instances: dict[int, str]) -> WorldEffect | None:
    match event:
        case CallScheduled():
            return call(
                event.call,
                event.activity,
                None if event.queue == own_queue else event.queue,
                event.value.json,
                event.timeout,
                event.retry,
                event.summary,
            )
        case TimerStarted():
            return timer(event.timer, event.length, event.summary)
        case UpdateCompleted(value=value) if value is not None:
            return answer(instances.get(event.accepted) or event.update, value.json)
        case RunClosed(failure=failure) if failure is not None:
            return end("failed", failure.details.json, failure.message)
        case RunClosed(state="completed" | "cancelled" as state):
            return end(state, event.value.json)
        case ContinuedAsNew():
            return end("continued as new", event.value.json)
        case _:
            return None


def effect_of(command: WorkflowCommand, own_queue: str) -> WorldEffect | None:
    """Convert a command to an effect; None if only Temporal's replayer compares it.

    Args:
        command: The workflow's command.
        own_queue: The run's queue, which is the default for its calls.
    """
    summary = text_of(command.user_metadata.summary)
    match command.WhichOneof("variant"):
        case "schedule_activity":
            it = command.schedule_activity
            return call(
                it.activity_id,
                it.activity_type,
                None if it.task_queue == own_queue else it.task_queue,
                RecordedValue(it.arguments).json,
                it.start_to_close_timeout.ToTimedelta(),
                it.retry_policy,
                summary,
            )
        case "start_timer":
            it = command.start_timer
            return timer(str(it.seq), it.start_to_fire_timeout.ToTimedelta(), summary)
        case "update_response" if command.update_response.HasField("completed"):
            it = command.update_response
            return answer(it.protocol_instance_id, RecordedValue([it.completed]).json)
        case "complete_workflow_execution":
            it = command.complete_workflow_execution
            return end("completed", RecordedValue([it.result]).json)
        case "fail_workflow_execution":
            it = command.fail_workflow_execution.failure
            details = it.application_failure_info.details.payloads
            return end("failed", RecordedValue(details).json, it.message)
        case "continue_as_new_workflow_execution":
            it = command.continue_as_new_workflow_execution
            return end("continued as new", RecordedValue(it.arguments).json)
        case "cancel_workflow_execution":
            return end("cancelled", None)
        case _:
            return None
