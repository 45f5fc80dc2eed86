"""Start and find the runs of MCP clients, and serve them in this process.

Like `coterie run`, each run has a record and the private queue of its configuration. So a run
outlives the client and this process: the next `coterie serve --mcp`, or `coterie worker` of the
project, serves it again.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote

from coterie.documents.worker_trust import missing_keys
from coterie.dsl.errors import listed
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.mcp_server.served_teams import ServedTeam
from coterie.rendering.commit_diffs import CommitDiffs
from coterie.runs.new_runs import start_run
from coterie.runs.records import (
    PRIVATE,
    RunRecord,
    kept,
    mcp_record,
    mcp_records,
    queue_of,
)
from coterie.runs.run_client import Run
from coterie.runs.run_list import open_executions
from coterie.server.connection import Connection, open_connection
from coterie.server.embedded_server import ServerMoved, supervise
from coterie.settings import Settings
from coterie.terminal import note
from coterie.worker.run_worker import run_worker
from coterie.workflows.core.messages import TeamInput

_log = logging.getLogger("coterie")
_SHOWN_IDS = 5


class RunHost:
    """The connection to the server, and one worker for each configuration that has runs."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._ready: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        self._workers: dict[str, _QueueWorker] = {}

    async def serve(self) -> None:
        """Connect, continue what earlier clients left, and supervise an embedded server.

        Raises:
            CommandError: There is no server.
        """
        while True:
            connection = await open_connection(self._settings, start=True)
            self._ready.set_result(connection)
            try:
                await self._continue(connection)
                await _supervise_server(connection)
            except ServerMoved as moved:
                note(f"{moved}; the runs continue there")
            finally:
                self._ready = asyncio.get_running_loop().create_future()
                await self._close()

    async def start(self, team: ServedTeam, context: Json) -> tuple[RunRecord, Run]:
        """Start a run.

        Raises:
            CommandError: The team cannot start with this context, or the server refuses the run.
        """
        record, plan = await asyncio.to_thread(team.start, context, self._settings)
        connection = await self.connection()
        await self._serve(connection, record)
        team_input = TeamInput(plan=plan, context=context, marked=record.trusted.sets_visibility)
        with kept(self._settings, record):
            await start_run(
                connection.client,
                record.id,
                team_input,
                task_queue=record.task_queue,
                summary=plan.name,
            )
        return record, self._run(connection, record)

    async def served(self, record: RunRecord) -> Run:
        """Return a run that an MCP client started in this project, and serve it.

        Raises:
            CommandError: This process cannot serve it.
        """
        connection = await self.connection()
        await self._serve(connection, record)
        return self._run(connection, record)

    async def latest(
        self, maximum: int, is_seen: Callable[[RunRecord], bool]
    ) -> list[tuple[RunRecord, Run]]:
        """Return the latest runs of MCP clients that the caller sees, without serving them."""
        records = [
            record
            for record in await asyncio.to_thread(mcp_records, self._settings)
            if is_seen(record)
        ]
        connection = await self.connection()
        return [
            (record, self._run(connection, record, served_here=False))
            for record in records[:maximum]
        ]

    def _run(self, connection: Connection, record: RunRecord, *, served_here: bool = True) -> Run:
        """Return a run of this host, whose requests show what they would commit."""
        run = Run(connection.client, record.id, served_here=served_here)
        folder = Path(record.trusted.workspace)
        run.complete = CommitDiffs(folder, self._settings.environment).complete
        return run

    async def connection(self) -> Connection:
        """Return the connection to the server, once there is one."""
        return await asyncio.shield(self._ready)

    def record(self, id: str, is_seen: Callable[[RunRecord], bool]) -> RunRecord:
        """Return the record of a run that an MCP client started, and the caller sees; blocking.

        Raises:
            CommandError: There is none.
        """
        record = mcp_record(self._settings, id)
        if record is not None and is_seen(record):
            return record
        records = [record for record in mcp_records(self._settings) if is_seen(record)]
        latest = listed([record.id for record in records[:_SHOWN_IDS]]) or "none yet"
        raise CommandError(
            f"no MCP client started a run {id!r} in this project; the latest runs: {latest}"
        )

    async def _continue(self, connection: Connection) -> None:
        """Serve the open runs that earlier clients started."""
        records = await asyncio.to_thread(mcp_records, self._settings)
        records_by_id: Mapping[str, RunRecord] = {record.id: record for record in records}
        only = f"TaskQueue STARTS_WITH '{PRIVATE}'"
        async for execution in open_executions(connection.client, only):
            record = records_by_id.get(execution.id)
            if record is None or execution.task_queue in self._workers:
                continue
            try:
                await self._serve(connection, record)
            except CommandError as error:
                note(f"run {record.id!r} has no worker: {error}")

    async def _serve(self, connection: Connection, record: RunRecord) -> None:
        """Have a worker for the queue of a run.

        Raises:
            CommandError: This process cannot serve it.
        """
        if record.task_queue != queue_of(record.trusted):
            raise CommandError(
                f"the configuration of run {record.id!r} was recorded by another version or on "
                f"another machine; resume it yourself: coterie run --resume {quote(record.id)}"
            )
        missing = missing_keys(record.keys, self._settings)
        if missing:
            raise CommandError("; ".join(missing))
        worker = self._workers.get(record.task_queue)
        if worker is None or worker.has_ended:
            worker = _QueueWorker(connection, self._settings, record)
            self._workers[record.task_queue] = worker
        await worker.started()

    async def _close(self) -> None:
        workers = list(self._workers.values())
        self._workers.clear()
        await asyncio.gather(*(worker.stop() for worker in workers))


class _QueueWorker:
    """A worker in a task of its own, because only the task that enters it may leave it."""

    def __init__(self, connection: Connection, settings: Settings, record: RunRecord) -> None:
        self._stop = asyncio.Event()
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._work(connection, settings, record))

    @property
    def has_ended(self) -> bool:
        """Whether it serves no more."""
        return self._task.done()

    async def started(self) -> None:
        """Wait until the host serves the run; raise the error that prevented it."""
        await asyncio.shield(self._started)

    async def stop(self) -> None:
        """Finish calls in progress, and close its connections."""
        self._stop.set()
        await asyncio.wait({self._task})

    async def _work(self, connection: Connection, settings: Settings, record: RunRecord) -> None:
        try:
            async with run_worker(connection.client, settings, record):
                self._started.set_result(None)
                await self._stop.wait()
        except CommandError as error:
            self._report_failure(record, error)
        except Exception as error:
            _log.exception("the worker of %s failed", record.mcp_tool)
            self._report_failure(
                record, CommandError(f"the worker failed ({type(error).__name__})")
            )
        finally:
            if not self._started.done():
                self._started.cancel()

    def _report_failure(self, record: RunRecord, error: CommandError) -> None:
        """Tell the calls that wait for this worker, or the operator."""
        if self._started.done():
            note(f"the worker of {record.mcp_tool} has ended: {error}")
        else:
            self._started.set_exception(error)


async def _supervise_server(connection: Connection) -> None:
    embedded = connection.embedded
    if embedded is None:
        await asyncio.Event().wait()
    else:
        await supervise(
            embedded.server,
            embedded.record,
            lambda: note("the embedded server died and was restarted"),
        )
