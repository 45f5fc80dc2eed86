"""List the open runs of a server."""

from collections.abc import AsyncIterator

from temporalio.client import Client, WorkflowExecution
from temporalio.service import RPCError

from coterie.failures import CommandError
from coterie.runs.run_client import Run
from coterie.storage.histories import WORKFLOW


async def open_runs(client: Client) -> AsyncIterator[Run]:
    """Yield every open run, latest first."""
    async for execution in open_executions(client):
        yield Run(client, execution.id)


async def open_executions(
    client: Client, only: str | None = None, limit: int | None = None
) -> AsyncIterator[WorkflowExecution]:
    """Yield the server's description of every open run, latest first.

    Args:
        client: Client of the server.
        only: A Temporal list filter to select runs.
        limit: Maximum number of runs.

    Raises:
        CommandError: The filter is invalid, or the server does not answer.
    """
    query = f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'"
    try:
        found = client.list_workflows(f"{query} AND ({only})" if only else query, limit=limit)
        async for execution in found:
            yield execution
    except RPCError as error:
        raise CommandError(f"could not list runs: {error.message}") from None
