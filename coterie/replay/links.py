"""Read the links of a run: one history, or one more for each continue-as-new."""

from collections.abc import AsyncGenerator

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode

from coterie.runs.run_client import Run


async def links(client: Client, id: str) -> AsyncGenerator[WorkflowHistory]:
    """Yield the histories of a run, oldest first, with all their values.

    Omit links that the server has deleted; each later one starts with the state of the run.

    Raises:
        CommandError: The run does not exist, or a stored value is missing.
    """
    run = Run(client, id)
    latest = await run.history()
    earlier: list[str] = []
    before: str | None = continued(latest.events[0])
    while before and (first := await _first_event(client, id, before)) is not None:
        earlier.append(before)
        before = continued(first)
    for part in reversed(earlier):
        yield await run.history(part)
    yield latest


def continued(first: HistoryEvent) -> str:
    """Return the run id of the link before the one with this first event; empty for none."""
    return first.workflow_execution_started_event_attributes.continued_execution_run_id


async def _first_event(client: Client, id: str, run_id: str) -> HistoryEvent | None:
    handle = client.get_workflow_handle(id, run_id=run_id)
    try:
        async for event in handle.fetch_history_events(page_size=1):
            return event
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
    return None
