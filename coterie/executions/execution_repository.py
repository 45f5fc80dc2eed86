"""Keep the states of runs in a table, for programs that want to query them with SQL.

repository = await AgentExecutionRepository.open("sqlite:///runs.db")
row = await repository.save_state("tool_router-1a2b3c4d")
"""

import asyncio
from typing import TYPE_CHECKING, Self

from temporalio.client import Client

from coterie.activities.extra_packages import install_command
from coterie.executions.agent_execution import AgentExecution, ExecutionStatus, read_execution
from coterie.failures import CommandError, ExitCode
from coterie.runs.run_client import Run
from coterie.server.connection import open_connection
from coterie.settings import Settings, load
from coterie.workflows.core.messages import Control

if TYPE_CHECKING:
    from coterie.executions.execution_table import ExecutionTable

_SETTLING = 10.0
"""Seconds in which a run with a worker shows a change of its status."""
_AGAIN = 0.2


class AgentExecutionRepository:
    """Rows of the table `agent_executions`, and the runs that they describe."""

    def __init__(self, table: "ExecutionTable", client: Client) -> None:
        self._table = table
        self._client = client

    @classmethod
    async def open(cls, url: str, settings: Settings | None = None) -> Self:
        """Connect to the database and to the server of runs; create or upgrade the table.

        Args:
            url: `sqlite:///runs.db`, or `postgresql+psycopg://user@host/name`.
            settings: Where the server is. Default: the environment and the current folder.

        Raises:
            CommandError: A package is missing, or the database or the server cannot be reached.
        """
        table = open_table(url)
        await asyncio.to_thread(table.upgrade)
        return cls(table, (await open_connection(settings or load())).client)

    async def save_state(self, id: str) -> AgentExecution:
        """Read the state of a run from its history, and write it to its row.

        Raises:
            CommandError: The run does not exist, another version ran it, or the database refuses.
        """
        row = await read_execution(self._client, id)
        await asyncio.to_thread(self._table.put, row)
        return row

    async def load_state(self, id: str) -> AgentExecution | None:
        """Return the row of a run as it was saved last; None if there is none.

        Raises:
            CommandError: The database refuses.
        """
        return await asyncio.to_thread(self._table.get, id)

    async def update_status(
        self, id: str, status: ExecutionStatus, by: str = "unknown", why: str = ""
    ) -> AgentExecution:
        """Pause, resume or cancel the run itself, and save the state that it then has.

        The row has the status that the run has: a change that a worker has not taken up within 10
        seconds is requested, but not in the row.

        Args:
            id: Of the run.
            status: `paused`, `running` (resume) or `failed` (cancel).
            by: Who asks for it, for the trail.
            why: The reason, for the trail.

        Raises:
            ValueError: `completed`: only the run itself completes.
            CommandError: The run has ended, or the server does not answer.
        """
        run = Run(self._client, id)
        match status:
            case "paused":
                await run.signal("pause", Control(by=by, why=why))
            case "running":
                await run.signal("resume", Control(by=by, why=why))
            case "failed":
                await run.cancel(f"by {by}: {why}" if why else f"by {by}")
            case "completed":
                raise ValueError(
                    "no run is completed from outside; ask for 'paused', 'running' or 'failed'"
                )
        return await self._await_status(id, status)

    async def _await_status(self, id: str, status: ExecutionStatus) -> AgentExecution:
        """Save the state once the run has the status, or when its time is over."""
        until = asyncio.get_running_loop().time() + _SETTLING
        row = await read_execution(self._client, id)
        while row.status != status and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(_AGAIN)  # until a worker has taken up the request
            row = await read_execution(self._client, id)
        await asyncio.to_thread(self._table.put, row)
        return row


def open_table(url: str) -> "ExecutionTable":
    """Return the table of a database.

    Raises:
        CommandError: The packages are missing, or the URL is wrong.
    """
    try:
        from coterie.executions.execution_table import ExecutionTable
    except ModuleNotFoundError as error:
        raise CommandError(
            f"this needs the package {error.name!r}; install it with `{install_command('sql')}`",
            ExitCode.CALL_WRONG,
        ) from None
    return ExecutionTable(url)
