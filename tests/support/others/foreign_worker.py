"""A worker that somebody else wrote: activities, workflows and a Nexus service, all their own."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import nexusrpc
import nexusrpc.handler
from temporalio import activity, nexus, workflow
from temporalio.api.common.v1 import Payload
from temporalio.api.nexus.v1 import EndpointSpec, EndpointTarget
from temporalio.api.operatorservice.v1 import CreateNexusEndpointRequest
from temporalio.client import Client
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

QUEUE = "theirs"
ENDPOINT = "pay"


fulfilled: list[dict[str, Any]] = []
"""The orders of all workflows that have begun."""


@workflow.defn(name="Fulfil")
class Fulfil:
    """Fulfils an order, or waits until it is paid."""

    def __init__(self) -> None:
        self.paid: dict[str, Any] | None = None

    @workflow.signal
    def pay(self, payment: dict[str, Any]) -> None:
        self.paid = payment

    @workflow.run
    async def run(self, order: dict[str, Any]) -> Any:
        if not workflow.unsafe.is_replaying():
            fulfilled.append(order)
        if order.get("fails"):
            raise ApplicationError("nothing left", type=order["fails"])
        if order.get("waits"):
            await workflow.wait_condition(lambda: self.paid is not None)
        if order.get("encrypted"):
            return RawValue(encrypted())
        return {"order": order.get("order"), "paid": self.paid}


def encrypted() -> Payload:
    """A result that only the other side can read."""
    return Payload(metadata={"encoding": b"binary/encrypted"}, data=b"\x01\x02")


@nexusrpc.service
class Pay:
    """The service of their payments."""

    quote: nexusrpc.Operation[dict[str, Any], dict[str, Any]]
    settle: nexusrpc.Operation[dict[str, Any], Any]


@nexusrpc.handler.service_handler(service=Pay)
class PayHandler:
    """Answers at once, or by a workflow."""

    @nexusrpc.handler.sync_operation
    async def quote(
        self, ctx: nexusrpc.handler.StartOperationContext, given: dict[str, Any]
    ) -> dict[str, Any]:
        if given.get("refused"):
            raise nexusrpc.HandlerError("no such item", type=nexusrpc.HandlerErrorType.BAD_REQUEST)
        return {"price": 7, "item": given["item"]}

    @nexus.workflow_run_operation
    async def settle(
        self, ctx: nexus.WorkflowRunOperationContext, given: dict[str, Any]
    ) -> nexus.WorkflowHandle[Any]:
        return await ctx.start_workflow(Fulfil.run, given, id=f"settle-{given['order']}")


@dataclass
class ForeignActivities:
    """What they do, and how often."""

    calls: list[Any] = field(default_factory=list[Any])
    slow_began: asyncio.Event = field(default_factory=asyncio.Event)

    @activity.defn(name="charge")
    async def charge(self, order: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(order)
        if order.get("fails"):
            raise ApplicationError("no", type=order["fails"], non_retryable=True)
        return {"charged": order["amount"], "attempt": activity.info().attempt}

    @activity.defn(name="add")
    async def add(self, left: int, right: int) -> int:
        return left + right

    @activity.defn(name="secret")
    async def secret(self, _: dict[str, Any]) -> Any:
        self.calls.append("secret")
        return RawValue(encrypted())

    @activity.defn(name="large")
    async def large(self, given: dict[str, Any]) -> str:
        self.calls.append("large")
        return "x" * int(given["size"])

    @activity.defn(name="slow")
    async def slow(self, _: dict[str, Any]) -> str:
        self.slow_began.set()
        try:
            while True:
                activity.heartbeat()
                await asyncio.sleep(0.2)
        except asyncio.CancelledError:
            self.calls.append("slow was cancelled")
            raise


async def create_endpoint(client: Client, name: str = ENDPOINT, queue: str = QUEUE) -> None:
    """Let callers find the service."""
    target = EndpointTarget(
        worker=EndpointTarget.Worker(namespace=client.namespace, task_queue=queue)
    )
    request = CreateNexusEndpointRequest(spec=EndpointSpec(name=name, target=target))
    await client.operator_service.create_nexus_endpoint(request)


@asynccontextmanager
async def foreign_worker(address: str) -> AsyncGenerator[ForeignActivities]:
    """Serve with the SDK's own converter: it knows nothing of Coterie."""
    client = await Client.connect(address)
    done = ForeignActivities()
    async with Worker(
        client,
        task_queue=QUEUE,
        workflows=[Fulfil],
        activities=[done.charge, done.add, done.secret, done.large, done.slow],
        nexus_service_handlers=[PayHandler()],
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_heartbeat_throttle_interval=timedelta(seconds=0.2),
        build_id="theirs",
    ):
        yield done
