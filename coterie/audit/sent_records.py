"""Send the audit run what belongs to no run. That never slows or refuses anything."""

import asyncio
import os
import socket
from datetime import UTC, datetime, timedelta

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError

from coterie.dsl.reserved_ids import AUDIT_PREFIX
from coterie.dsl.sizes import MAX_BY_LENGTH
from coterie.dsl.visible import shortened_text
from coterie.failures import CommandError
from coterie.runs.own_workflows import ForeignWorkflow, own_execution
from coterie.server.connection import open_connection
from coterie.server.embedded_server import EmbeddedServer
from coterie.server.message_senders import current_sender
from coterie.settings import Settings
from coterie.terminal import note
from coterie.workflows.core.audit_messages import (
    AUDIT_SIGNAL,
    AUDIT_WORKFLOW,
    AuditBatch,
    AuditedAct,
    AuditLogInput,
    AuditRecord,
)

_SECONDS = 5.0
MAX_ABOUT = 1_000


def audit_run(settings: Settings) -> str:
    """Return the id of the audit run: one for each task queue."""
    return f"{AUDIT_PREFIX}{settings.task_queue}"


def this_process() -> str:
    """Return the host and the process that send records."""
    return shortened_text(f"{socket.gethostname()} {os.getpid()}", MAX_BY_LENGTH)


def audit_record(act: AuditedAct, about: str = "", code: str = "") -> AuditRecord:
    """Return a record of the current sender."""
    sender = current_sender()
    return AuditRecord(
        act=act,
        at=moment(),
        subject=sender.subject,
        name=sender.name,
        method=sender.method,
        address=sender.address,
        door=sender.door,
        about=shortened_text(about, MAX_ABOUT),
        code=code,
    )


def moment() -> str:
    """Return the time as records hold it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


async def send_batch(client: Client, settings: Settings, batch: AuditBatch) -> None:
    """Send a batch to the audit run, which starts with its first one. It needs no worker.

    Raises:
        ForeignWorkflow: Something else is open with the id of the audit run.
        RPCError: The server does not take it.
    """
    await own_execution(client, audit_run(settings), AUDIT_WORKFLOW)
    await client.start_workflow(
        AUDIT_WORKFLOW,
        AuditLogInput(),
        id=audit_run(settings),
        task_queue=settings.task_queue,
        start_signal=AUDIT_SIGNAL,
        start_signal_args=[batch],
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        rpc_timeout=timedelta(seconds=_SECONDS),
    )


async def send_record(client: Client, settings: Settings, act: AuditedAct, about: str) -> None:
    """Record what a command has done; if no server takes it, report that and continue."""
    batch = AuditBatch(source=this_process(), records=(audit_record(act, about),))
    try:
        await send_batch(client, settings, batch)
    except RPCError:
        note("the server did not take the record of this for the audit log")
    except ForeignWorkflow as error:
        note(f"the audit log has no record of this: {error}")


async def send_token_record(settings: Settings, act: AuditedAct, name: str) -> None:
    """Record what became of a token. Without a server, there is no audit log."""
    if settings.address is None and not EmbeddedServer(settings).running():
        return
    try:
        async with asyncio.timeout(_SECONDS):
            client = (await open_connection(settings)).client
            await send_record(client, settings, act, name)
    except (CommandError, TimeoutError):
        note("no server took the record of this for the audit log")
