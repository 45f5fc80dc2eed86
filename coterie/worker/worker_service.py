"""Run a worker until it is stopped."""

import asyncio
import logging
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from shlex import quote

from pydantic import ValidationError
from temporalio.client import Client
from temporalio.service import RPCError

from coterie.documents.worker_trust import TrustedConfig, missing_keys
from coterie.failures import CommandError, ExitCode
from coterie.logs import to_stderr
from coterie.runs.records import PRIVATE, RunRecord, queue_of
from coterie.runs.run_list import open_executions
from coterie.runs.task_queues import is_polled
from coterie.server.connection import Connection, open_connection
from coterie.server.embedded_server import ServerMoved, supervise
from coterie.settings import Settings
from coterie.terminal import note
from coterie.worker.plan_policy import PlanPolicy
from coterie.worker.run_worker import run_worker
from coterie.worker.workers import STICKY, ServingTerms, working

_LOOK_SECONDS = 5.0


class PrivateQueues:
    """The private queues of a project; each is served while it has runs and no other poller."""

    def __init__(self, client: Client, settings: Settings, grace: timedelta) -> None:
        self._client = client
        self._settings = settings
        self._grace = grace
        self._records: dict[Path, RunRecord | None] = {}
        self._serving: dict[str, tuple[asyncio.Event, asyncio.Task[None]]] = {}
        self._reported: set[str] = set()

    async def serve(self) -> None:
        """Look for them until cancelled; then finish what is in progress."""
        try:
            while True:
                with suppress(CommandError, RPCError):  # the server is down: try again next time
                    await self._look()
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            tasks = [task for _, task in self._serving.values()]
            for end_event, _ in self._serving.values():
                end_event.set()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self) -> None:
        records = await asyncio.to_thread(self._latest_records)
        if not records and not self._serving:
            return
        waiting: dict[str, str] = {}
        only = f"TaskQueue STARTS_WITH '{PRIVATE}'"
        async for execution in open_executions(self._client, only):
            waiting.setdefault(execution.task_queue, execution.id)
        for queue, (end_event, task) in list(self._serving.items()):
            if queue not in waiting:
                end_event.set()
            if task.done():
                del self._serving[queue]
        for queue, run in waiting.items():
            record = records.get(queue)
            if queue in self._serving or record is None or await is_polled(self._client, queue):
                continue
            problem = self._problem(record)
            if problem is None:
                end_event = asyncio.Event()
                self._serving[queue] = (
                    end_event,
                    asyncio.create_task(self._serve_queue(record, end_event)),
                )
                who = "MCP server" if record.mcp_tool else "`coterie run`"
                self._report(f"the {who} of {run!r} has ended; this worker serves it now")
            else:
                self._report(f"run {run!r} has no worker: {problem}")

    def _latest_records(self) -> dict[str, RunRecord]:
        """Return `{queue: the latest record of a run on it}`, reading each file once."""
        for file in sorted((self._settings.state / "runs").glob("*.json")):
            if file not in self._records:
                self._records[file] = _read(file)
        return {
            record.task_queue: record for record in self._records.values() if record is not None
        }

    def _problem(self, record: RunRecord) -> str | None:
        """Explain why this worker does not serve a run, and what to do."""
        if record.task_queue != queue_of(record.trusted):
            return (
                "its configuration was recorded by another version or on another machine, or has "
                f"changed since; resume it yourself: coterie run --resume {quote(record.id)}"
            )
        missing = missing_keys(record.keys, self._settings)
        return "; ".join(missing) if missing else None

    async def _serve_queue(self, record: RunRecord, end_event: asyncio.Event) -> None:
        try:
            async with run_worker(
                self._client, self._settings, record, grace=self._grace, sticky=STICKY
            ):
                await end_event.wait()
        except CommandError as error:
            self._report(f"could not serve run {record.id!r}: {error}")

    def _report(self, what: str) -> None:
        """Print each message once."""
        if what not in self._reported:
            self._reported.add(what)
            note(what)


def _read(file: Path) -> RunRecord | None:
    try:
        return RunRecord.model_validate_json(file.read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


_log = logging.getLogger("coterie")


async def serve(settings: Settings, trusted: TrustedConfig, grace: float) -> ExitCode:
    """Take runs from the task queue until cancelled; supervise an embedded server meanwhile.

    Args:
        settings: Server and task queue.
        trusted: What runs may touch here.
        grace: Seconds for calls in progress at the end; a second Ctrl-C skips the wait.
    """
    to_stderr()
    while True:
        try:
            await _serve_at(await open_connection(settings, start=True), settings, trusted, grace)
            return ExitCode.DONE
        except ServerMoved as moved:
            note(f"{moved}; this worker continues there")


async def _serve_at(
    connection: Connection, settings: Settings, trusted: TrustedConfig, grace: float
) -> None:
    terms = ServingTerms(settings.task_queue, timedelta(seconds=grace))
    policy = PlanPolicy(accept_plans=trusted.accept_plans, decisions_root=trusted.decisions_root)
    async with working(connection.client, settings, trusted, terms, policy):
        note(
            f"serving the task queue {settings.task_queue!r} of {connection.address} on "
            f"{trusted.workspace}; press Ctrl-C to stop"
        )
        if connection.ui:
            note(f"UI        {connection.ui}")
        private_queues = PrivateQueues(connection.client, settings, terms.grace)
        looking = asyncio.create_task(private_queues.serve())
        try:
            await _until_cancelled(connection)
        finally:
            looking.cancel()
            await asyncio.wait({looking})


async def _until_cancelled(connection: Connection) -> None:
    embedded = connection.embedded
    if embedded is None:
        await asyncio.Event().wait()
    else:
        await supervise(
            embedded.server,
            embedded.record,
            lambda: _log.warning("the embedded server died and was restarted"),
        )
