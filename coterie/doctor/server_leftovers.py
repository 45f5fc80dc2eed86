"""Count what Coterie leaves on a Temporal server that several projects may use."""

from typing import Final

from temporalio.client import Client
from temporalio.service import RPCError

from coterie.dsl.reserved_ids import SCHEDULE_PREFIX
from coterie.dsl.values import Frozen
from coterie.failures import CommandError
from coterie.storage.histories import WORKFLOW
from coterie.workflows.core.audit_messages import AUDIT_WORKFLOW
from coterie.workflows.core.bulk_messages import BULK_WORKFLOW
from coterie.workflows.core.registry_messages import REGISTRY_WORKFLOW
from coterie.workflows.temporal.attribute_kinds import KINDS

_MAX_SCHEDULES = 1000
TYPES: Final = {
    WORKFLOW: "runs",
    REGISTRY_WORKFLOW: "registries of deployed teams",
    AUDIT_WORKFLOW: "audit runs of gateways",
    BULK_WORKFLOW: "actions on many runs",
}
"""`{type of a workflow of ours: what its executions are}`."""


class Executions(Frozen):
    """The executions of one type of workflow."""

    type: str
    what: str
    open: int
    closed: int


class ServerLeftovers(Frozen):
    """What Coterie has in a namespace."""

    address: str
    namespace: str
    executions: tuple[Executions, ...]
    schedules: tuple[str, ...]
    """Ids of the schedules of this task queue, at most a thousand."""
    attributes: tuple[str, ...] = tuple(KINDS)


async def server_leftovers(client: Client, address: str, task_queue: str) -> ServerLeftovers:
    """Look at a namespace; nothing is changed.

    Raises:
        CommandError: The server does not answer, or denies access.
    """
    try:
        executions = [await _count(client, type, what) for type, what in TYPES.items()]
        schedules = await _schedules(client, f"{SCHEDULE_PREFIX}{task_queue}/")
    except RPCError as error:
        raise CommandError(f"the server at {address} does not tell: {error.message}") from None
    return ServerLeftovers(
        address=address,
        namespace=client.namespace,
        executions=tuple(executions),
        schedules=tuple(schedules),
    )


async def _count(client: Client, type: str, what: str) -> Executions:
    all_of = await client.count_workflows(f"WorkflowType = '{type}'")
    query = f"WorkflowType = '{type}' AND ExecutionStatus = 'Running'"
    opened = (await client.count_workflows(query)).count
    return Executions(type=type, what=what, open=opened, closed=max(all_of.count - opened, 0))


async def _schedules(client: Client, prefix: str) -> list[str]:
    found: list[str] = []
    async for schedule in await client.list_schedules():
        if schedule.id.startswith(prefix):
            found.append(schedule.id)
        if len(found) == _MAX_SCHEDULES:
            break
    return sorted(found)
