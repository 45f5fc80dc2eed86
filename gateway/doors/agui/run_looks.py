"""What only the run itself can say: its context, and the requests that wait in it.

Each look runs beside the stream, so that no text waits for a run that is slow to answer.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import cast

from pydantic import JsonValue

from coterie.failures import CommandError
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.request_decisions import (
    RequestsAsked,
    WaitingRequest,
    WaitingRequests,
)
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_parts import PartAsked
from coterie.gateway.streams.cursors import Cursor
from coterie.workflows.core.views import StateView

_PAUSE = 0.3
"""Seconds between two looks of one client."""
_PAUSE_AFTER_FAILURE = 3.0
_CONTEXT = "context"


@dataclass(frozen=True, slots=True)
class RunLook:
    """What a run said."""

    cursor: Cursor | None
    """The position of the client as it was asked."""
    context: JsonValue
    requests: tuple[WaitingRequest, ...] = ()


class RunLooks:
    """Looks at a run whenever something has happened in it, one look at a time."""

    def __init__(
        self, access: RunAccess, run: str, identity: Identity, done: Callable[[], None]
    ) -> None:
        """Take the run, who asks, and what is called after each look."""
        self._access = access
        self._run = run
        self._identity = identity
        self._done = done
        self._task: asyncio.Task[RunLook | None] | None = None
        self._next = 0.0
        self.is_due = True
        """Whether something has happened since the last look."""

    def begin(self, cursor: Cursor | None, *, requests: bool) -> None:
        """Begin a look, if one is due and none is in progress."""
        if self._task is None and self.is_due:
            self.is_due = False
            self._task = asyncio.create_task(self._look(cursor, requests=requests))
            self._task.add_done_callback(lambda _: self._done())

    def take(self) -> RunLook | None:
        """Return the look that is done, once."""
        if self._task is None or not self._task.done():
            return None
        look, self._task = self._task.result(), None
        pause = _PAUSE
        if look is None:
            self.is_due, pause = True, _PAUSE_AFTER_FAILURE
        self._next = monotonic() + pause
        return look

    async def last(self, seconds: float) -> RunLook | None:
        """Return a look at what is now; None if the run does not answer in time."""
        try:
            async with asyncio.timeout(seconds):
                return await self._ask(None, requests=False)
        except TimeoutError:
            return None

    async def _look(self, cursor: Cursor | None, *, requests: bool) -> RunLook | None:
        await asyncio.sleep(max(0.0, self._next - monotonic()))
        return await self._ask(cursor, requests=requests)

    async def _ask(self, cursor: Cursor | None, *, requests: bool) -> RunLook | None:
        try:
            state, asked = operation_named("state"), PartAsked(run=self._run, path=_CONTEXT)
            view = cast("StateView", await perform(self._access, state, asked, self._identity))
            if not requests:
                return RunLook(cursor, view.value)
            operation, about = operation_named("requests"), RequestsAsked(run=self._run)
            found = await perform(self._access, operation, about, self._identity)
            return RunLook(cursor, view.value, cast("WaitingRequests", found).requests)
        except CommandError:
            return None  # it has not begun, or no worker answers: the next look asks again

    async def close(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
