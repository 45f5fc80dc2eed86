"""`python -m coterie.worker.blocked_run`: tells the server that a run blocks its worker.

What a run did to a worker stands in its own history, where every worker of a fleet finds it: the
first one signals the run, the second one terminates it.
"""

import asyncio
import sys

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from coterie.failures import CommandError
from coterie.server.connection import open_connection
from coterie.settings import load
from workflows.core.messages import WORKER_BLOCKED


async def report(client: Client, workflow_id: str, run_id: str, worker: str, seconds: float) -> str:
    """Record that the run blocked a worker, or terminate it when it has blocked another before.

    Returns:
        What was done, for people.
    """
    handle = client.get_workflow_handle(workflow_id, run_id=run_id)
    because = f"one workflow task took more than {seconds:g} s of CPU"
    signalled = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
    blocked = 0
    async for event in handle.fetch_history_events():
        if event.event_type == signalled:
            name = event.workflow_execution_signaled_event_attributes.signal_name
            blocked += name == WORKER_BLOCKED
    if not blocked:
        await handle.signal(WORKER_BLOCKED, {"by": worker, "why": because})
        return f"the run {workflow_id} goes on elsewhere; the next worker that it blocks ends it"
    await handle.terminate(reason=f"it blocked a second worker, {worker}: {because}")
    return f"the run {workflow_id} is terminated: it blocked a second worker"


async def _main(workflow_id: str, run_id: str, worker: str, seconds: str) -> str:
    connection = await open_connection(load())
    return await report(connection.client, workflow_id, run_id, worker, float(seconds))


if __name__ == "__main__":
    try:
        sys.stderr.write(f"watchdog: {asyncio.run(_main(*sys.argv[1:]))}\n")
    except CommandError as problem:
        sys.stderr.write(f"watchdog: {problem}\n")
        sys.exit(1)
