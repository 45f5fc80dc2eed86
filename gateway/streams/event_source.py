"""The response that carries an event stream: it ends by itself, and leaves no connection open."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Protocol, cast

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

SEND_SECONDS = 20.0
"""How long a client may read nothing while there is something to send: then it is cut, and it
resumes with its cursor."""
_CUT_SECONDS = 1.0
_CONNECTION = "connection"
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # proxies pass each message on at once
    "X-Content-Type-Options": "nosniff",
}


class _HasTransport(Protocol):
    transport: asyncio.Transport


class EventSourceResponse(Response):
    """Sends messages as they come, until they end or the client leaves."""

    media_type = "text/event-stream"

    def __init__(
        self,
        messages: AsyncGenerator[bytes],
        first: bytes = b"",
        send_seconds: float = SEND_SECONDS,
    ) -> None:
        """Take the messages.

        Args:
            messages: They are closed in any case.
            first: A message that was read before, to learn that there are any.
            send_seconds: How long sending one may take.
        """
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._messages = messages
        self._first = first
        self._send_seconds = send_seconds
        self._is_cut = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all messages; cut a client that does not read."""
        sending = asyncio.create_task(self._send_all(scope, send))
        leaving = asyncio.create_task(_wait_until_left(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
            if self._is_cut:  # the server must know that nothing more comes
                await asyncio.wait((leaving,), timeout=_CUT_SECONDS)
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            await self._messages.aclose()
        if not sending.cancelled() and (error := sending.exception()) is not None:
            raise error

    async def _send_all(self, scope: Scope, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        try:
            await send(start)
            if self._first:
                await self._send(send, self._first)
            async for message in self._messages:
                await self._send(send, message)
        except TimeoutError:
            self._is_cut = True
            _cut(scope)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self._send_seconds):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, send: Send, message: bytes) -> None:
        async with asyncio.timeout(self._send_seconds):
            await send({"type": "http.response.body", "body": message, "more_body": True})


async def _wait_until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _cut(scope: Scope) -> None:
    """Close a connection at once, without waiting until the client has read what is on its way."""
    connection = scope.get("state", {}).get(_CONNECTION)
    if connection is not None:
        cast("_HasTransport", connection).transport.abort()
