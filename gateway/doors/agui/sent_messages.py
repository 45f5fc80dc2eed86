"""Send the message of a client to its session, until the session has answered it.

A session that continues as new asks for its messages again: what waits sends it again.
"""

import asyncio
from collections.abc import Callable

from coterie.gateway.doors.agui.agui_threads import ThreadRun
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.expected_errors import EXPECTED_ERRORS, ExpectedError
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.sessions.session_runs import MessageToSession


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
        thread = self._thread
        assert thread.message_id is not None
        sent = MessageToSession(
            self._access, self._identity, thread.run, thread.message_id, thread.message
        )
        try:
            await sent.reply(waits_for_worker=True)
        except EXPECTED_ERRORS as error:
            self.failure = error
            self._done()

    async def close(self) -> None:
        """Stop to wait for the answer."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
