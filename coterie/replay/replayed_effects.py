"""List the effects of a replayed run: its commands, before any codec or storage."""

from temporalio.bridge.proto.workflow_commands import WorkflowCommand

from coterie.replay import effects
from coterie.replay.effects import WorldEffect
from coterie.runs.histories.history_events import RecordedValue
from coterie.storage.wire import text_of


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
            return effects.call(
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
            return effects.timer(str(it.seq), it.start_to_fire_timeout.ToTimedelta(), summary)
        case "update_response" if command.update_response.HasField("completed"):
            it = command.update_response
            return effects.answer(it.protocol_instance_id, RecordedValue([it.completed]).json)
        case "complete_workflow_execution":
            it = command.complete_workflow_execution
            return effects.end("completed", RecordedValue([it.result]).json)
        case "fail_workflow_execution":
            it = command.fail_workflow_execution.failure
            details = it.application_failure_info.details.payloads
            return effects.end("failed", RecordedValue(details).json, it.message)
        case "continue_as_new_workflow_execution":
            it = command.continue_as_new_workflow_execution
            return effects.end("continued as new", RecordedValue(it.arguments).json)
        case "cancel_workflow_execution":
            return effects.end("cancelled", None)
        case _:
            return None
