"""Run a worker until it is stopped."""

import asyncio
import logging
from datetime import timedelta

from coterie.documents.worker_trust import TrustedConfig
from coterie.failures import ExitCode
from coterie.logs import to_stderr
from coterie.server.connection import Connection, open_connection
from coterie.server.embedded_server import ServerMoved, supervise
from coterie.settings import Settings
from coterie.terminal import note
from coterie.worker.plan_policy import PlanPolicy
from coterie.worker.private_queues import PrivateQueues
from coterie.worker.workers import ServingTerms, working

_log = logging.getLogger("coterie")


async def serve(settings: Settings, trusted: TrustedConfig, grace: float) -> ExitCode:
    """Take runs from the task queue until cancelled; supervise an embedded server meanwhile.

    Args:
        settings: Server and task queue.
        trusted: What runs may touch here.
        grace: Seconds for calls in progress at the end; a second Ctrl-C skips the wait.
    """
    to_stderr()
    while True:
        try:
            await _serve_at(await open_connection(settings, start=True), settings, trusted, grace)
            return ExitCode.DONE
        except ServerMoved as moved:
            note(f"{moved}; this worker continues there")


async def _serve_at(
    connection: Connection, settings: Settings, trusted: TrustedConfig, grace: float
) -> None:
    terms = ServingTerms(settings.task_queue, timedelta(seconds=grace))
    policy = PlanPolicy(accept_plans=trusted.accept_plans)
    async with working(connection.client, settings, trusted, terms, policy):
        note(
            f"serving the task queue {settings.task_queue!r} of {connection.address} on "
            f"{trusted.workspace}; press Ctrl-C to stop"
        )
        if connection.ui:
            note(f"UI        {connection.ui}")
        left = PrivateQueues(connection.client, settings, terms.grace)
        looking = asyncio.create_task(left.serve())
        try:
            await _until_cancelled(connection)
        finally:
            looking.cancel()
            await asyncio.wait({looking})


async def _until_cancelled(connection: Connection) -> None:
    embedded = connection.embedded
    if embedded is None:
        await asyncio.Event().wait()
    else:
        await supervise(
            embedded.server,
            embedded.record,
            lambda: _log.warning("the embedded server died and was restarted"),
        )
