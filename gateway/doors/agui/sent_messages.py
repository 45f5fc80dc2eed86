"""Send the message of a client to its session, until the session has answered it.

A session that continues as new asks for its messages again: what waits sends it again.
"""

import asyncio
from collections.abc import Callable
from typing import cast

from coterie.gateway.doors.agui.agui_threads import ThreadRun
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.expected_errors import EXPECTED_ERRORS, ExpectedError
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_steering import MessageAsked, MessageOutcome

_WAIT_SECONDS = 45.0


class AguiMessage:
    """One message to a session; sent again, it is the same one."""

    def __init__(
        self, access: RunAccess, identity: Identity, thread: ThreadRun, done: Callable[[], None]
    ) -> None:
        """Take the runs, who sends, what to send, and what is called when it has failed."""
        self._access = access
        self._identity = identity
        self._thread = thread
        self._done = done
        self._task: asyncio.Task[None] | None = None
        self.failure: ExpectedError | None = None
        """Why the session does not take it."""

    def begin(self) -> None:
        """Send it, if there is one."""
        if self._thread.message_id is not None:
            self._task = asyncio.create_task(self._send())

    async def _send(self) -> None:
        operation = operation_named("message")
        asked = MessageAsked(
            run=self._thread.run,
            message=self._thread.message,
            message_id=self._thread.message_id,
            wait=_WAIT_SECONDS,
        )
        try:
            is_answered = False
            while not is_answered:
                outcome = await perform(self._access, operation, asked, self._identity)
                is_answered = cast("MessageOutcome", outcome).is_answered
        except EXPECTED_ERRORS as error:
            self.failure = error
            self._done()

    async def close(self) -> None:
        """Stop to wait for the answer."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
