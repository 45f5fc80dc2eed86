"""End slow work of a local activity when its run is closed.

Such an activity has no heartbeats: the SDK cancels that of a terminated run only when it next
extends its workflow task.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

_LOOK_SECONDS = 2.0
"""Between two looks; work that is faster costs no request."""

Result = TypeVar("Result")


async def while_run_is_open(client: Client | None, work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of work, or cancel it and this call once the run is closed.

    Args:
        client: Asks for the run; None: nobody asks.
        work: Ends when it is cancelled.
    """
    working = asyncio.create_task(work)
    try:
        while not working.done():
            await asyncio.wait({working}, timeout=_LOOK_SECONDS)
            if not working.done() and client is not None and await _is_closed(client):
                working.cancel()
        return await working
    finally:
        if not working.done():
            working.cancel()
            await asyncio.wait({working})


async def _is_closed(client: Client) -> bool:
    info = activity.info()
    run = client.get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
    try:
        return (await run.describe()).status != WorkflowExecutionStatus.RUNNING
    except RPCError:  # the server is away: the work is still wanted
        return False
