"""Whether a worker polls a task queue, for the pages that say so."""

from temporalio.service import RPCError

from coterie.gateway.operations.run_access import RunAccess
from coterie.runs.task_queues import is_polled


async def unserved_queue(access: RunAccess, queue: str | None = None) -> str:
    """Return the task queue if no worker polls it; empty if one does, or the server does not say.

    Args:
        access: The runs, and the project.
        queue: Default: that of the project.
    """
    queue = queue or access.settings.task_queue
    try:
        return "" if await is_polled(access.client, queue) else queue
    except RPCError:
        return ""
