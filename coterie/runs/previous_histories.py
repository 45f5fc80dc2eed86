"""The history before a history: before continue-as-new, or that of the run it was forked from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHistory

from activities.contracts import ForkResult
from coterie.runs.run_client import Run
from coterie.storage.wire import data_converter
from workflows.core.messages import TeamInput


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
    point = next(_points(history.events), None)
    return PreviousHistory(origin, is_other_run=True, point=point)


def begun_with(history: WorkflowHistory) -> TeamInput:
    """Return the input of a run, from the first event of a history."""
    started = history.events[0].workflow_execution_started_event_attributes
    return data_converter.payload_converter.from_payload(started.input.payloads[0], TeamInput)


def _points(events: Sequence[HistoryEvent]) -> Iterator[ForkResult]:
    for event in events:
        for payload in event.activity_task_completed_event_attributes.result.payloads:
            try:
                yield data_converter.payload_converter.from_payload(payload, ForkResult)
            except (ValidationError, ValueError, RuntimeError):
                continue
