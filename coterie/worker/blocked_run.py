"""`python -m coterie.worker.blocked_run`: report to the server that a run blocks its worker.

The record is in the run's own history, where every worker of a fleet finds it: the first blocked
worker signals the run, the second one terminates it.
"""

import asyncio
import logging
import os
import socket
import sys
from typing import Any, NamedTuple

from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError

from coterie.failures import CommandError
from coterie.runs.histories.history_events import read_event
from coterie.runs.histories.recorded_events import SignalReceived
from coterie.server.connection import open_connection
from coterie.settings import load
from coterie.workflows.core.messages import WORKER_BLOCKED

_LOG = logging.getLogger(__name__)


def worker_name() -> str:
    """Return the name of this process for the trail of a run."""
    return f"{os.getpid()}@{socket.gethostname()}"


class BlockedRun(NamedTuple):
    """A run whose workflow task took too long."""

    workflow_id: str
    run_id: str
    """Of its execution."""
    worker: str
    """The worker that it blocked."""
    seconds: float
    """CPU seconds of the workflow task."""


class BlockedRuns:
    """Reports runs whose workflow tasks the SDK interrupted, while this worker continues."""

    def __init__(self, client: Client, worker: str) -> None:
        """Prepare reports on the current event loop.

        Args:
            client: Client of the runs' server.
            worker: Name of this worker.
        """
        self._client = client
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self._reports: set[asyncio.Task[None]] = set()
        self._runs: set[str] = set()
        self.said: list[str] = []
        """What was done for each run, for people."""

    def __call__(self, run: bytes, seconds: float) -> None:
        """Schedule a report, from any thread."""
        run_id, _, workflow_id = run.decode(errors="replace").partition("/")
        self._loop.call_soon_threadsafe(self._begin, workflow_id, run_id, seconds)

    def _begin(self, workflow_id: str, run_id: str, seconds: float) -> None:
        task = self._loop.create_task(self._report(workflow_id, run_id, seconds))
        self._reports.add(task)
        task.add_done_callback(self._reports.discard)

    async def _report(self, workflow_id: str, run_id: str, seconds: float) -> None:
        again = run_id in self._runs
        self._runs.add(run_id)
        try:
            blocked_run = BlockedRun(workflow_id, run_id, self._worker, seconds)
            message = await report(self._client, blocked_run, ended=False, again=again)
        except RPCError as error:
            message = f"could not report run {workflow_id} to the server: {error}"
        self.said.append(message)
        _LOG.warning("a workflow task took %.1f s of CPU: %s", seconds, message)

    async def close(self) -> None:
        """Cancel unfinished reports."""
        for task in self._reports:
            task.cancel()
        await asyncio.gather(*self._reports, return_exceptions=True)


async def report(
    client: Client, run: BlockedRun, *, ended: bool = True, again: bool = False
) -> str:
    """Record that the run blocked a worker, or terminate it if it has blocked another before.

    Args:
        client: Client of the run's server.
        run: The run, and the worker that it blocked.
        ended: The worker is being killed; else the task was interrupted, and a worker counts once.
        again: This process has reported the run before.

    Returns:
        What was done, for people.
    """
    workflow_id, worker = run.workflow_id, run.worker
    handle = client.get_workflow_handle(workflow_id, run_id=run.run_id)
    because = f"one workflow task took more than {run.seconds:g} s of CPU"
    blocked_workers = await _blocked_workers(handle)
    if again:  # the history may not contain our signal yet
        blocked_workers.add(worker)
    if not blocked_workers:
        why = because if ended else f"{because} and was interrupted"
        await handle.signal(WORKER_BLOCKED, {"by": worker, "why": why})
        return (
            f"run {workflow_id} continues elsewhere; the next worker that it blocks terminates it"
        )
    if not ended and blocked_workers == {worker}:
        return f"run {workflow_id} has already blocked this worker before"
    await handle.terminate(reason=f"it blocked a second worker, {worker}: {because}")
    return f"run {workflow_id} was terminated: it blocked a second worker"


async def _blocked_workers(run: WorkflowHandle[Any, Any]) -> set[str]:
    """Return the workers that a run has blocked, by its history."""
    workers: set[str] = set()
    async for event in run.fetch_history_events():
        match read_event(event):
            case SignalReceived(name=name, value=value) if name == WORKER_BLOCKED:
                report = value.json
                workers.add(str(report.get("by", "")) if isinstance(report, dict) else "")
            case _:
                pass
    return workers


async def _main(workflow_id: str, run_id: str, worker: str, seconds: str) -> str:
    connection = await open_connection(load())
    run = BlockedRun(workflow_id, run_id, worker, float(seconds))
    return await report(connection.client, run)


if __name__ == "__main__":
    try:
        sys.stderr.write(f"watchdog: {asyncio.run(_main(*sys.argv[1:]))}\n")
    except CommandError as problem:
        sys.stderr.write(f"watchdog: {problem}\n")
        sys.exit(1)
