"""A worker of one system in a process of its own, so that its CPU time is its own.

    python -m bench.worker SYSTEM ADDRESS TASK_QUEUE SCRIPT

`bench/worker_process.py` lists the questions that it answers. Ends with its input.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.worker import UnsandboxedWorkflowRunner, Worker, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from bench import loop
from bench.asking import Asking
from bench.handwritten import OutlineLoop
from bench.handwritten_approval import DraftAndFinish
from bench.worker_process import answer_questions
from coterie.activities.agent_activity import AgentActivities
from coterie.activities.providers.provider import ProviderSettings
from coterie.activities.providers.provider_registry import Providers
from coterie.runtime.frozen_heap import frozen_heap
from coterie.runtime.workflow_sandbox import restrictions, sandbox
from coterie.storage.large_values import Storage, directory_storage
from coterie.storage.wire import data_converter
from coterie.workflows.team import TeamWorkflow

IDENTITY = "bench"
"""Stands in every event of a history: the same length for all."""
BUILD_ID = "bench"
_SDK_CONCURRENCY = 3
"""The SDK's default."""
_CACHED_RUNS = 1100
"""More than are ever parked at once."""


def providers(script: Path) -> Providers:
    """The model that every system asks."""
    settings = ProviderSettings(name=loop.PROVIDER, kind="scripted", answers=str(script))
    return Providers({loop.PROVIDER: settings})


@asynccontextmanager
async def worker(system: str, address: str, queue: str, script: Path) -> AsyncGenerator[None]:
    """A worker that differs from the other only in what is registered and in the models."""
    coterie = not system.endswith("handwritten")
    storage = directory_storage(script.parent / "blobs")
    client = await Client.connect(
        address,
        identity=IDENTITY,
        data_converter=_converter(system, storage),
    )
    models = providers(script)
    provider = models.get(loop.PROVIDER)
    agents = AgentActivities(models, blobs=storage.blobs)
    async with Worker(
        client,
        task_queue=queue,
        workflows=[TeamWorkflow] if coterie else [OutlineLoop, DraftAndFinish],
        activities=[agents.run_agent if coterie else Asking(provider).ask_agent],
        workflow_runner=_runner(system),
        build_id=BUILD_ID,
        max_cached_workflows=_CACHED_RUNS,
        max_workflow_task_external_storage_concurrency=_concurrency(system, storage),
    ):
        yield
    await models.close()


def _converter(system: str, storage: Storage) -> DataConverter:
    """Coterie's own has a storage, but for the one that shows what it is like without."""
    if system.endswith("handwritten"):
        return pydantic_data_converter
    return data_converter if system == "inline" else storage.converter


def _concurrency(system: str, storage: Storage) -> int:
    """How many values of a workflow task are stored at once: a setting of Coterie's worker."""
    return _SDK_CONCURRENCY if system == "handwritten" else storage.concurrency


def _runner(system: str) -> WorkflowRunner:
    """All have the same sandbox; by hand it is the SDK's own runner that enters it."""
    match system:
        case "unsandboxed":
            return UnsandboxedWorkflowRunner()
        case "handwritten":
            return SandboxedWorkflowRunner(restrictions=restrictions())
        case _:
            return sandbox()


async def main(system: str, address: str, queue: str, script: str) -> None:
    # Where Python may not keep bytecode, the sandbox compiles every module for every run.
    sys.dont_write_bytecode = False
    # Standard output has the answers, and the SDK's warnings would stand between them.
    quiet = LoggingConfig(TelemetryFilter(core_level="ERROR", other_level="ERROR"))
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=quiet)))
    heap = nullcontext() if system == "handwritten" else frozen_heap()
    async with worker(system, address, queue, Path(script)):
        with heap:
            await answer_questions()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
