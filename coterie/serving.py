"""A worker that serves until it is told to stop."""

import asyncio
import logging
from datetime import timedelta

from coterie.connection import Connection, open_connection
from coterie.failures import ExitCode
from coterie.logs import to_stderr
from coterie.server import supervise
from coterie.settings import Settings
from coterie.terminal import note
from coterie.trusted import TrustedConfig
from coterie.worker import working

_GRACE = timedelta(seconds=60)
"""Enough for most model calls; a second Ctrl-C does not wait for it."""
_log = logging.getLogger("coterie")


async def serve(settings: Settings, trusted: TrustedConfig) -> ExitCode:
    """Take runs from the task queue until cancelled; look after an embedded server meanwhile."""
    to_stderr()
    connection = await open_connection(settings, start=True)
    async with working(
        connection.client, settings, trusted, task_queue=settings.task_queue, grace=_GRACE
    ):
        note(
            f"serving the task queue {settings.task_queue!r} of {connection.address} on "
            f"{trusted.workspace}; Ctrl-C ends it"
        )
        if connection.ui:
            note(f"UI        {connection.ui}")
        await _until_cancelled(connection)
    return ExitCode.DONE


async def _until_cancelled(connection: Connection) -> None:
    embedded = connection.embedded
    if embedded is None:
        await asyncio.Event().wait()
    else:
        await supervise(
            embedded.server,
            embedded.record,
            lambda: _log.warning("the server had died; it is back"),
        )
