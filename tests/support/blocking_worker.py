"""A worker under its watchdog, whose one workflow takes the interpreter's lock and keeps it.

`blocks` does so in a workflow task of a real run; `sleeps` takes as much time and no CPU; `loops`
runs Python code, which can be interrupted, until two of its tasks are reported or the run is ended.
"""

import asyncio
import os
import sys
import time

from temporalio import workflow
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from coterie.runtime.task_board import TaskBoard, run_name
from coterie.runtime.task_limit import CpuLimit
from coterie.runtime.workflow_sandbox import ContextFreeRunner
from coterie.server.connection import open_connection
from coterie.settings import Settings, load
from coterie.worker.blocked_run import BlockedRuns, worker_name
from coterie.worker.watchdog_process import watched

MAX_CPU = 0.5
QUEUE = "blocking"
LAST = ("has already blocked this worker before", "was terminated: it blocked a second worker")
"""What is said when there is nothing more to see."""


@workflow.defn(name="Blocks")
class Blocks:
    """Never gives the thread back."""

    @workflow.run
    async def run(self) -> None:
        sum(range(10**15))  # one call in C: no other thread of the process runs meanwhile


@workflow.defn(name="Loops")
class Loops:
    """Never gives the thread back, but for an interruption."""

    @workflow.run
    async def run(self) -> None:
        while True:
            pass


async def interrupted(settings: Settings) -> list[str]:
    """What was done about each interrupted task."""
    client = (await open_connection(settings)).client
    blocked = BlockedRuns(client, worker_name())
    board = TaskBoard(blocked)
    runner = ContextFreeRunner(UnsandboxedWorkflowRunner(), board, CpuLimit(MAX_CPU))
    async with Worker(
        client, task_queue=QUEUE, workflows=[Loops], workflow_runner=runner, build_id="test"
    ):
        while not any(said.endswith(LAST) for said in blocked.said):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        await blocked.close()
    board.close()
    return blocked.said


async def serve(settings: Settings, board: TaskBoard) -> None:
    client = (await open_connection(settings)).client
    runner = ContextFreeRunner(UnsandboxedWorkflowRunner(), board)
    worker = Worker(
        client, task_queue=QUEUE, workflows=[Blocks], workflow_runner=runner, build_id="test"
    )
    await worker.run()


def main(what: str) -> None:
    if what == "loops":
        sys.stdout.write("".join(f"{said}\n" for said in asyncio.run(interrupted(load()))))
        sys.stdout.flush()
        os._exit(0)  # as the product ends: threads of Temporal's library may abort the usual way
    settings, board = load(), TaskBoard()
    with watched(settings, board, max_cpu=MAX_CPU):
        if what == "blocks":
            asyncio.run(serve(settings, board))
            return
        slot = board.begin(run_name("greedy", "1"))
        time.sleep(4 * MAX_CPU)
        board.end(slot)


if __name__ == "__main__":
    main(sys.argv[1])
