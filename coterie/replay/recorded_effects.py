"""List the effects in a history, in the same form as those of a replay."""

from temporalio.client import WorkflowHistory

from coterie.replay import effects
from coterie.replay.effects import WorldEffect
from coterie.runs.histories.history_events import (
    CallScheduled,
    ContinuedAsNew,
    RecordedEvent,
    RunClosed,
    TimerStarted,
    UpdateAccepted,
    UpdateCompleted,
    read_events,
    started,
)


def recorded(history: WorkflowHistory) -> list[WorldEffect]:
    """List the effects, in the order of the events."""
    own_queue = started(history).queue
    found: list[WorldEffect] = []
    accepted: dict[int, str] = {}
    for event in read_events(history.events):
        if isinstance(event, UpdateAccepted) and event.instance:
            accepted[event.id] = event.instance
        effect = _effect(event, own_queue, accepted)
        if effect is not None:
            found.append(effect)
    return found


def _effect(event: RecordedEvent, own_queue: str, accepted: dict[int, str]) -> WorldEffect | None:
    match event:
        case CallScheduled():
            return effects.call(
                event.call,
                event.activity,
                None if event.queue == own_queue else event.queue,
                event.value.json,
                event.timeout,
                event.retry,
                event.summary,
            )
        case TimerStarted():
            return effects.timer(event.timer, event.length, event.summary)
        case UpdateCompleted(value=answer) if answer is not None:
            return effects.answer(accepted.get(event.accepted) or event.update, answer.json)
        case RunClosed(failure=failure) if failure is not None:
            return effects.end("failed", failure.details.json, failure.message)
        case RunClosed(state="completed" | "cancelled" as state):
            return effects.end(state, event.value.json)
        case ContinuedAsNew():
            return effects.end("continued as new", event.value.json)
        case _:
            return None
