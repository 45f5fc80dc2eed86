"""A run that blocks a worker ends that worker; the second time, the run is ended."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.testing import WorkflowEnvironment

from coterie.settings import load
from coterie.testing.simulation.case_server import time_skipping_server
from coterie.workflows.core.messages import WORKER_BLOCKED
from tests.support.blocking_worker import QUEUE
from tests.support.engine import engine, trail
from tests.support.runs import asked, decide

ROOT = Path(__file__).parents[3]
Handle = Any
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="only Linux tells the CPU time of a thread"
)


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[Client]:
    """The real server."""
    async with time_skipping_server(load()) as client:
        yield client


def worker(what: str, folder: Path, address: str) -> subprocess.CompletedProcess[str]:
    """Run a worker to its end."""
    here = {"COTERIE_ADDRESS": address, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    environment = {**os.environ, **here}
    return subprocess.run(
        [sys.executable, "-m", "tests.support.blocking_worker", what],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def boards_left(folder: Path) -> list[str]:
    """The files in which workers keep their workflow tasks, of workers that are gone."""
    return [file.name for file in folder.glob("coterie-tasks-*")]


def said(ended: subprocess.CompletedProcess[str]) -> list[str]:
    """What it printed, without the log of Temporal's library."""
    return [line for line in ended.stdout.splitlines() if line.startswith("run ")]


def test_a_worker_whose_workflow_task_only_takes_time_is_left_alone(tmp_path: Path) -> None:
    ended = worker("sleeps", tmp_path, "127.0.0.1:1")
    assert (ended.returncode, ended.stderr) == (0, "")


async def test_a_run_that_blocks_a_second_worker_is_terminated_with_its_reason(
    server: Client, tmp_path: Path
) -> None:
    handle: Handle = await server.start_workflow(
        "Blocks", id=f"blocks-{uuid.uuid4()}", task_queue=QUEUE, task_timeout=timedelta(seconds=1)
    )
    address = server.service_client.config.target_host
    first = worker("blocks", tmp_path, address)
    assert first.returncode == -signal.SIGKILL
    assert f"run {handle.id} took" in first.stderr
    assert "continues elsewhere" in first.stderr
    assert "Traceback" not in first.stderr
    assert boards_left(tmp_path) == [], "a killed worker leaves no file behind"
    assert (await handle.describe()).status == WorkflowExecutionStatus.RUNNING
    second = worker("blocks", tmp_path, address)
    assert second.returncode == -signal.SIGKILL
    described = await handle.describe()
    assert described.status == WorkflowExecutionStatus.TERMINATED
    last = (await handle.fetch_history()).events[-1]
    reason = last.workflow_execution_terminated_event_attributes.reason
    assert reason.startswith("it blocked a second worker, ")
    assert "of CPU" in reason


async def test_a_run_whose_tasks_the_sdk_interrupts_on_two_workers_is_terminated_with_its_reason(
    server: Client, tmp_path: Path
) -> None:
    handle: Handle = await server.start_workflow(
        "Loops", id=f"loops-{uuid.uuid4()}", task_queue=QUEUE
    )
    address = server.service_client.config.target_host
    first = worker("loops", tmp_path, address)
    assert (first.returncode, said(first)[:2]) == (
        0,
        [
            f"run {handle.id} continues elsewhere; the next worker that it blocks terminates it",
            f"run {handle.id} has already blocked this worker before",
        ],
    )
    assert (await handle.describe()).status == WorkflowExecutionStatus.RUNNING
    second = worker("loops", tmp_path, address)
    assert said(second)[-1] == f"run {handle.id} was terminated: it blocked a second worker"
    last = (await handle.fetch_history()).events[-1]
    reason = last.workflow_execution_terminated_event_attributes.reason
    assert reason.startswith("it blocked a second worker, ")


async def test_the_trail_tells_which_worker_a_run_has_blocked(
    server: Client, tmp_path: Path
) -> None:
    text = """
orchestration:
  entry_team: work
  teams:
    work: {tasks: [{name: sign, type: approval, prompt: "Well?"}]}
"""
    async with engine(WorkflowEnvironment.from_client(server), tmp_path, []) as here:
        handle: Handle = await here.start(text)
        request = await asked(handle)
        await handle.signal(WORKER_BLOCKED, {"by": "7@host", "why": "it took 12 s of CPU"})
        await decide(handle, request["id"])
        await handle.result()
        found = [entry for entry in await trail(handle) if entry.kind == "control"]
        assert [(entry.status, entry.because) for entry in found] == [
            ("blocked", "the run blocked worker 7@host: it took 12 s of CPU")
        ]
