"""List the effects in a history, in the same form as those of a replay."""

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from coterie.replay import effects
from coterie.replay.effects import WorldEffect, one, text


def recorded(history: WorkflowHistory) -> list[WorldEffect]:
    """List the effects, in the order of the events."""
    own_queue = history.events[0].workflow_execution_started_event_attributes.task_queue.name
    found: list[WorldEffect] = []
    accepted: dict[int, str] = {}
    for event in history.events:
        update = event.workflow_execution_update_accepted_event_attributes
        if update.protocol_instance_id:
            accepted[event.event_id] = update.protocol_instance_id
        effect = _effect(event, own_queue, accepted)
        if effect is not None:
            found.append(effect)
    return found


def _effect(event: HistoryEvent, own_queue: str, accepted: dict[int, str]) -> WorldEffect | None:
    match event.event_type:
        case EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            it = event.activity_task_scheduled_event_attributes
            queue = it.task_queue.name
            return effects.call(
                it.activity_id,
                it.activity_type.name,
                None if queue == own_queue else queue,
                one(it.input.payloads),
                it.start_to_close_timeout.ToTimedelta(),
                it.retry_policy,
                _summary(event),
            )
        case EventType.EVENT_TYPE_TIMER_STARTED:
            it = event.timer_started_event_attributes
            runs = it.start_to_fire_timeout.ToTimedelta()
            return effects.timer(it.timer_id, runs, _summary(event))
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
            it = event.workflow_execution_update_completed_event_attributes
            if not it.outcome.HasField("success"):
                return None
            said = one(it.outcome.success.payloads)
            update = accepted.get(it.accepted_event_id) or it.meta.update_id
            return effects.answer(update, said)
        case _:
            return _end(event)


def _end(event: HistoryEvent) -> WorldEffect | None:
    match event.event_type:
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
            result = event.workflow_execution_completed_event_attributes.result
            return effects.end("completed", one(result.payloads))
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
            failure = event.workflow_execution_failed_event_attributes.failure
            details = failure.application_failure_info.details.payloads
            return effects.end("failed", one(details), failure.message)
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
            given = event.workflow_execution_continued_as_new_event_attributes.input
            return effects.end("continued as new", one(given.payloads))
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
            return effects.end("cancelled", None)
        case _:
            return None


def _summary(event: HistoryEvent) -> str:
    return text(event.user_metadata.summary)
