"""The history before a history: before continue-as-new, or that of the run it was forked from."""

from dataclasses import dataclass

from temporalio.client import Client, WorkflowHistory

from coterie.activities.contracts import FORK_RUN, ForkResult
from coterie.runs.run_client import Run
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import TeamInput


@dataclass(frozen=True, slots=True)
class PreviousHistory:
    """What came before the beginning of a history."""

    history: WorkflowHistory
    is_other_run: bool = False
    """The run was forked from this one."""
    point: ForkResult | None = None
    """Of a fork: where it continues; None until a worker has found that."""


async def previous_history(client: Client, history: WorkflowHistory) -> PreviousHistory | None:
    """Return what came before a history; None for the first one."""
    started = history.events[0].workflow_execution_started_event_attributes
    if started.continued_execution_run_id:
        run = Run(client, history.workflow_id)
        return PreviousHistory(await run.history(started.continued_execution_run_id))
    given = begun_with(history)
    if given.fork is None:
        return None
    origin = await Run(client, given.fork.run).history(given.fork.run_id)
    point = fork_point(history)
    return PreviousHistory(origin, is_other_run=True, point=point)


def begun_with(history: WorkflowHistory) -> TeamInput:
    """Return the input of a run, from the first event of a history."""
    started = history.events[0].workflow_execution_started_event_attributes
    return data_converter.payload_converter.from_payload(started.input.payloads[0], TeamInput)


def fork_point(history: WorkflowHistory) -> ForkResult | None:
    """Return where a fork continues; None until a worker has found that."""
    found: set[int] = set()
    for event in history.events:
        scheduled = event.activity_task_scheduled_event_attributes
        if scheduled.activity_type.name == FORK_RUN:
            found.add(event.event_id)
        completed = event.activity_task_completed_event_attributes
        if completed.scheduled_event_id in found:
            (payload,) = completed.result.payloads
            return data_converter.payload_converter.from_payload(payload, ForkResult)
    return None
