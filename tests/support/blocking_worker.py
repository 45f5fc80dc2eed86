"""A worker under its watchdog, whose one workflow takes the interpreter's lock and keeps it.

`blocks` does so in a workflow task of a real run; `sleeps` takes as much time and no CPU.
"""

import asyncio
import sys
import time

from temporalio import workflow
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from coterie.runtime.task_board import TaskBoard, run_name
from coterie.runtime.workflow_runner import ContextFreeRunner
from coterie.server.connection import open_connection
from coterie.settings import Settings, load
from coterie.worker.watchdog_process import watched

MAX_CPU = 0.5
QUEUE = "blocking"


@workflow.defn(name="Blocks")
class Blocks:
    """Never gives the thread back."""

    @workflow.run
    async def run(self) -> None:
        sum(range(10**15))  # one call in C: no other thread of the process runs meanwhile


async def serve(settings: Settings, board: TaskBoard) -> None:
    client = (await open_connection(settings)).client
    runner = ContextFreeRunner(UnsandboxedWorkflowRunner(), board)
    worker = Worker(
        client, task_queue=QUEUE, workflows=[Blocks], workflow_runner=runner, build_id="test"
    )
    await worker.run()


def main(what: str) -> None:
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
