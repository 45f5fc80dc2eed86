"""The links of a run on a server: one history, or as many as it continued as new."""

from collections.abc import AsyncGenerator

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode

from coterie.runs.run_client import Run


async def links(client: Client, id: str) -> AsyncGenerator[WorkflowHistory]:
    """The histories of a run, oldest first, with all their values.

    Links that the server keeps no longer are left out; each carries all that the run remembered
    when it began.

    Raises:
        CommandError: there is no such run, or a stored value is gone.
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
    """The run id of the link that the one with this first event continues; empty for none."""
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
