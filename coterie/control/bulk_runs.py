"""Choose the runs of a bulk action, start it, and read its progress."""

from collections.abc import AsyncIterator
from uuid import uuid4

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowQueryFailedError
from temporalio.service import RPCError

from coterie.dsl.reserved_ids import BULK_PREFIX
from coterie.dsl.sizes import MAX_VALUE_SIZE
from coterie.failures import CommandError
from coterie.runs.call_errors import UnknownRun, call_error
from coterie.runs.run_client import Run
from coterie.runs.run_list import RunFilter, RunRow, run_rows
from coterie.server.message_senders import current_sender
from coterie.workflows.core.bulk_messages import (
    BULK_WORKFLOW,
    MAX_BULK_ITEMS,
    BulkInput,
    BulkItem,
    BulkReport,
)


async def chosen_runs(client: Client, wanted: RunFilter) -> AsyncIterator[tuple[RunRow, BulkItem]]:
    """Yield the runs that match a filter, as they are now, latest first; at most 1,000.

    Raises:
        CommandError: The server does not answer.
    """
    async for row in run_rows(client, wanted, MAX_BULK_ITEMS):
        description = await Run(client, row.id).describe()
        yield (
            row,
            BulkItem(
                run=row.id,
                run_id=description.run_id,
                team=row.plan,
                is_open=description.status == WorkflowExecutionStatus.RUNNING,
            ),
        )


async def start_bulk(client: Client, bulk: BulkInput, *, task_queue: str) -> str:
    """Start a bulk action, which then needs neither us nor the client; return its id.

    Raises:
        CommandError: The server refuses it, or does not answer.
    """
    id = f"{BULK_PREFIX}{bulk.action}-{uuid4().hex[:8]}"
    bulk = bulk.model_copy(update={"sender": current_sender()})
    (payload,) = client.data_converter.payload_converter.to_payloads([bulk])
    if len(payload.data) > MAX_VALUE_SIZE:
        raise CommandError("the bulk action exceeds 2 MB; choose fewer runs")
    summary = f"{bulk.action} {len(bulk.items)} by {bulk.by}"
    try:
        await client.start_workflow(
            BULK_WORKFLOW, bulk, id=id, task_queue=task_queue, static_summary=summary
        )
    except RPCError as error:
        raise call_error(id, error) from None
    return id


async def bulk_progress(client: Client, id: str) -> BulkReport:
    """Return what came of a bulk action so far.

    Raises:
        CommandError: There is none with this id, or no worker answers.
    """
    run = Run(client, id)
    if (await run.describe()).workflow_type != BULK_WORKFLOW:
        raise UnknownRun(f"there is no bulk action {id!r} on this server", id)
    handle = client.get_workflow_handle(id)
    try:
        return await handle.query("progress", result_type=BulkReport, rpc_timeout=run.answer_time)
    except (RPCError, WorkflowQueryFailedError) as error:
        if isinstance(error, RPCError):
            raise call_error(id, error) from None
        raise CommandError(f"the bulk action {id!r} cannot answer: {error}") from None
