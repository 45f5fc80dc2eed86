"""The runs of a server that have not ended."""

from collections.abc import AsyncIterator

from temporalio.client import Client, WorkflowExecution
from temporalio.service import RPCError

from coterie.failures import CommandError
from coterie.runs.run_client import Run
from coterie.storage.histories import WORKFLOW


async def open_runs(client: Client) -> AsyncIterator[Run]:
    """Every run that has not ended, latest first."""
    async for execution in open_executions(client):
        yield Run(client, execution.id)


async def open_executions(
    client: Client, only: str | None = None, limit: int | None = None
) -> AsyncIterator[WorkflowExecution]:
    """What the server lists of every run that has not ended, latest first.

    Args:
        client: of the server.
        only: a list filter of Temporal's, for those that are meant.
        limit: so many at most.

    Raises:
        CommandError: the filter is none, or the server does not answer.
    """
    query = f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'"
    try:
        found = client.list_workflows(f"{query} AND ({only})" if only else query, limit=limit)
        async for execution in found:
            yield execution
    except RPCError as error:
        raise CommandError(f"the server lists no runs: {error.message}") from None
