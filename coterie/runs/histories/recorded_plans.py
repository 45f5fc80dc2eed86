"""Read the plan of a run from the beginning of its history."""

from collections.abc import Iterator

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowExecutionDescription, WorkflowHistory
from temporalio.service import RPCError

from coterie.activities.contracts import CompileResult, ForkResult
from coterie.dsl.model.context.declarations import UNDECLARED, Declarations
from coterie.dsl.model.plan import Plan
from coterie.failures import CommandError
from coterie.runs.histories.history_events import read_events
from coterie.runs.histories.recorded_events import CallEnded, MarkerRecorded, RunStarted
from coterie.runs.histories.recorded_values import RecordedValue
from coterie.storage.histories import whole
from coterie.storage.wire import text_of
from coterie.workflows.core.memo_keys import STARTED
from coterie.workflows.core.messages import TeamInput

_BEGINNING = 40
"""Events in which a run gets its plan: a worker compiles it first of all."""


async def declared_context(client: Client, run: str) -> Declarations:
    """Return the declared context of a run; empty if it declares none, or its plan is not here."""
    plan = await plan_of_run(client, run)
    return UNDECLARED if plan is None else plan.context


async def plan_of_run(client: Client, run: str, part: str | None = None) -> Plan | None:
    """Return the plan of a run; None if it has none yet, or its plan is not here.

    Args:
        client: Client of the run's server.
        run: The id of the run.
        part: The run id of one of its histories; None for the latest.
    """
    history = await beginning_of(client, run, part)
    return None if history is None else recorded_plan(history)


async def beginning_of(client: Client, run: str, part: str | None) -> WorkflowHistory | None:
    """Return the first events of a history; None if they cannot be read here.

    Args:
        client: Of its server.
        run: The id of the run.
        part: The run id of the history; None for the latest one.
    """
    events: list[HistoryEvent] = []
    handle = client.get_workflow_handle(run, run_id=part)
    try:
        async for event in handle.fetch_history_events(page_size=_BEGINNING):
            events.append(event)
            if len(events) == _BEGINNING:
                break
        return await whole(WorkflowHistory(run, events), client.data_converter)
    except (RPCError, CommandError):
        return None


async def started_name(client: Client, described: WorkflowExecutionDescription) -> str:
    """Return the team or document that was started, or the run's id if nothing tells.

    The memo survives continue-as-new and the summary does not. A run that another client started
    may have neither: then its history tells.
    """
    memo = described.raw_description.workflow_execution_info.memo.fields
    summary = described.raw_description.execution_config.user_metadata.summary
    name = (text_of(memo[STARTED]) if STARTED in memo else "") or text_of(summary)
    if name:
        return name
    plan = await plan_of_run(client, described.id, described.run_id)
    return described.id if plan is None else plan.name


async def version_of_run(client: Client, described: WorkflowExecutionDescription) -> str | None:
    """Return the deployed version that a run was started from; None if nothing tells."""
    first = described.raw_description.workflow_execution_info.first_run_id or described.run_id
    history = await beginning_of(client, described.id, first)
    values = () if history is None else _plan_values(history)
    found = (value.read_if(CompileResult) for value in values)
    return next((compiled.version for compiled in found if compiled is not None), None)


def recorded_plan(history: WorkflowHistory) -> Plan | None:
    """Return the plan from the run's start, or as its worker compiled it; None if neither exists.

    Read only the start's input and the record of the compiling activity; do not replay.
    """
    for value in _plan_values(history):
        for model in (TeamInput, CompileResult, ForkResult):
            recorded_input = value.read_if(model)
            if recorded_input is not None and recorded_input.plan is not None:
                return recorded_input.plan
    return None


def _plan_values(history: WorkflowHistory) -> Iterator[RecordedValue]:
    for event in read_events(history.events):
        match event:
            case RunStarted() | CallEnded():
                yield event.value
            case MarkerRecorded():
                yield from event.details.values()
            case _:
                pass
