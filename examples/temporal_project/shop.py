"""A shop on Temporal: an activity, workflows and a Nexus service, which know nothing of models.

`python shop.py worker` serves them. `python shop.py order 7 'A lamp'` starts the workflow `Order`,
which runs the team of `sale.yml`.
"""

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

import nexusrpc
import nexusrpc.handler
from temporalio import activity, workflow
from temporalio.api.nexus.v1 import EndpointSpec, EndpointTarget
from temporalio.api.operatorservice.v1 import CreateNexusEndpointRequest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from coterie.child_workflows import ChildTeamFailed, run_team

QUEUE = "shop"
STOCK = {"lamp": 3, "chair": 0}


@activity.defn
async def charge(payment: dict) -> dict:
    """Charge a card; an order above 1,000 euros is declined."""
    if payment["cents"] > 100_000:
        raise ApplicationError("the bank says no", type="CardDeclined", non_retryable=True)
    return {"order": payment["order"], "cents": payment["cents"]}


@workflow.defn
class Deliver:
    """Sends a parcel."""

    @workflow.run
    async def run(self, order: dict) -> dict:
        await workflow.sleep(timedelta(milliseconds=10))
        return {"parcel": f"P-{order['order']}"}


@nexusrpc.service
class Stock:
    """What the shop has."""

    count: nexusrpc.Operation[dict, int]


@nexusrpc.handler.service_handler(service=Stock)
class StockHandler:
    """Answers at once: it only looks up."""

    @nexusrpc.handler.sync_operation
    async def count(self, context: nexusrpc.handler.StartOperationContext, asked: dict) -> int:
        return STOCK.get(asked["item"], 0)


@workflow.defn
class Order:
    """An order of the shop: a team of Coterie sells."""

    @workflow.run
    async def run(self, order: dict) -> str:
        try:
            result = await run_team(
                document=order["document"],
                context={"order": order["order"], "wish": order["wish"]},
                id=f"sale-{order['order']}",
                execution_timeout=timedelta(hours=1),
            )
        except ChildTeamFailed as failed:
            return f"not sold: {failed.message}"
        sold = result.output
        return f"sold a {sold['item']} for {sold['paid']} cents in parcel {sold['parcel']}"


async def serve(client: Client) -> None:
    """Serve the shop, and let callers find its Nexus service."""
    worker = EndpointTarget.Worker(namespace=client.namespace, task_queue=QUEUE)
    endpoint = EndpointSpec(name="shop", target=EndpointTarget(worker=worker))
    request = CreateNexusEndpointRequest(spec=endpoint)
    try:
        await client.operator_service.create_nexus_endpoint(request)
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:
            raise
    serving = Worker(
        client,
        task_queue=QUEUE,
        workflows=[Order, Deliver],
        activities=[charge],
        nexus_service_handlers=[StockHandler()],
    )
    print("the shop is open", flush=True)
    await serving.run()


async def order(client: Client, number: str, wish: str) -> None:
    """Place an order, and wait for what becomes of it."""
    document = await asyncio.to_thread(Path("sale.yml").read_text)
    given = {"order": number, "wish": wish, "document": document}
    print(await client.execute_workflow(Order.run, given, id=f"order-{number}", task_queue=QUEUE))


async def main() -> None:
    client = await Client.connect(os.environ.get("TEMPORAL_ADDRESS", "localhost:7233"))
    match sys.argv[1:]:
        case ["worker"]:
            await serve(client)
        case ["order", number, wish]:
            await order(client, number, wish)
        case _:
            sys.exit("usage: python shop.py worker | order NUMBER WISH")


if __name__ == "__main__":
    asyncio.run(main())
    sys.stdout.flush()
    os._exit(0)  # threads of Temporal's library may crash while the interpreter shuts down
