"""A worker of one of the tool loops, in a process of its own.

    python -m bench.tool_loop.worker SYSTEM ADDRESS TASK_QUEUE SCRIPT

`bench/worker_process.py` lists the questions that it answers. Ends with its input.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from bench import loop
from bench.tool_loop.handwritten import LibraryActivities, LibraryLoop
from bench.tool_loop.team import TOOL_FUNCTIONS
from bench.worker import BUILD_ID, IDENTITY, providers
from bench.worker_process import answer_questions
from coterie.activities.agent_activity import AgentActivities
from coterie.activities.providers.provider_registry import Providers
from coterie.activities.storage.absences import lasting
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.workspace.function_base import Workspace
from coterie.runtime.frozen_heap import frozen_heap
from coterie.runtime.workflow_sandbox import restrictions, sandbox
from coterie.storage.large_values import directory_storage
from coterie.workflows.team import TeamWorkflow


@asynccontextmanager
async def coterie(
    address: str, queue: str, models: Providers, folder: Path
) -> AsyncGenerator[None]:
    storage = directory_storage(folder / "blobs")
    client = await Client.connect(address, identity=IDENTITY, data_converter=storage.converter)
    blobs = lasting(storage.blobs)
    agents = AgentActivities(models, blobs=blobs)
    functions = FunctionActivities(Workspace(folder), TOOL_FUNCTIONS, blobs)
    async with Worker(
        client,
        task_queue=queue,
        workflows=[TeamWorkflow],
        activities=[agents.run_agent, functions.call_function],
        workflow_runner=sandbox(),
        build_id=BUILD_ID,
        max_workflow_task_external_storage_concurrency=storage.concurrency,
    ):
        with frozen_heap():
            yield


@asynccontextmanager
async def handwritten(
    address: str, queue: str, models: Providers, folder: Path
) -> AsyncGenerator[None]:
    client = await Client.connect(
        address, identity=IDENTITY, data_converter=pydantic_data_converter
    )
    library = LibraryActivities(models.get(loop.PROVIDER), folder / "conversations")
    async with Worker(
        client,
        task_queue=queue,
        workflows=[LibraryLoop],
        activities=[library.ask_model, library.read_page, library.look_up_entry],
        workflow_runner=SandboxedWorkflowRunner(restrictions=restrictions()),
        build_id=BUILD_ID,
    ):
        yield


async def main(system: str, address: str, queue: str, script: str) -> None:
    # Where Python may not keep bytecode, the sandbox compiles every module for every run.
    sys.dont_write_bytecode = False
    file = Path(script)
    models = providers(file)
    worker = handwritten if system == "handwritten" else coterie
    async with worker(address, queue, models, file.parent):
        await answer_questions()
    await models.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
