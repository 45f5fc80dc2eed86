"""Relay the messages of one connection: note its end, and end it when the server floods it.

The SDK starts a task for each message of a server and keeps it until its answer is written, so a
server that asks without reading would fill the worker's memory. Offers that break the protocol are
replaced on the way.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from mcp.client import Transport
from mcp.shared.message import SessionMessage

from coterie.activities.mcp_client.malformed_offers import without_malformed

MAX_UNANSWERED = 100
"""Questions of a server that it has not let the worker answer."""
MAX_UNANSWERED_SIZE = 1_000_000
"""Characters of these questions."""
MAX_UNASKED = 10_000
"""Messages that a server sends while no request is open."""

_CANCELLED = "notifications/cancelled"


class MessageRelay:
    """The two directions of one connection, and what is open on it."""

    def __init__(self, over: asyncio.Event, broken: Callable[[str], None]) -> None:
        """Store whom to inform.

        Args:
            over: Set when the server has ended, hung up, or broken a bound.
            broken: Called with the reason when it has broken a bound.
        """
        self._over = over
        self._broken = broken
        self._open: set[types.RequestId] = set()
        """Requests of the worker without an answer."""
        self._unanswered: dict[types.RequestId, int] = {}
        """Questions of the server, with their sizes."""
        self._unasked = 0
        self.version = ""
        """Of the protocol, once it is agreed on."""

    @asynccontextmanager
    async def relayed(self, transport: Transport) -> AsyncGenerator[tuple[Any, Any]]:
        """Relay a transport while the block runs."""
        async with transport as (read, write), anyio.create_task_group() as group:
            send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)

            async def relay() -> None:
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    async for message in read:
                        if not self._may_pass(message):
                            break
                        await send.send(self._sound(message))
                send.close()
                self._over.set()

            with send, receive:
                group.start_soon(relay)
                try:
                    yield receive, _NotedWriter(write, self._note_sent)
                finally:
                    group.cancel_scope.cancel()

    def _may_pass(self, item: SessionMessage | Exception) -> bool:
        """Count a message of the server; return whether the connection continues."""
        message = item.message if isinstance(item, SessionMessage) else None
        match message:
            case types.JSONRPCRequest(id=id):
                self._unanswered[id] = len(str(message.params)) + self._unanswered.get(id, 0)
                sizes = self._unanswered.values()
                if len(sizes) > MAX_UNANSWERED or sum(sizes) > MAX_UNANSWERED_SIZE:
                    self._broken("it asks more and more without reading the answers")
                    return False
                return True
            case types.JSONRPCResponse(id=id) | types.JSONRPCError(id=id) if id in self._open:
                self._open.remove(id)
                return True
            case types.JSONRPCNotification() if self._open:
                return True
            case _:
                self._unasked += 1
        if self._unasked > MAX_UNASKED:
            self._broken(f"it sent more than {MAX_UNASKED} messages that nobody asked for")
            return False
        return True

    def _note_sent(self, item: SessionMessage) -> None:
        """Note what the worker sends."""
        match item.message:
            case types.JSONRPCRequest(id=id):
                self._open.add(id)
                self._unasked = 0
            case types.JSONRPCNotification(method=method, params=params) if method == _CANCELLED:
                self._open.discard((params or {}).get("requestId", ""))
            case types.JSONRPCResponse(id=id) | types.JSONRPCError(id=id):
                self._unanswered.pop(id if id is not None else "", None)
            case _:
                pass

    def _sound(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, SessionMessage) and isinstance(item.message, types.JSONRPCResponse):
            item.message.result = without_malformed(item.message.result, self.version)
        return item


class _NotedWriter:
    """A stream that reports what is sent; the task that sends stays the same."""

    def __init__(self, stream: Any, note: Callable[[SessionMessage], None]) -> None:
        self._stream = stream
        self._note = note

    async def send(self, item: SessionMessage) -> None:
        """Send a message, and report it: requests before they can be answered."""
        asks = isinstance(item.message, types.JSONRPCRequest)
        if asks:
            self._note(item)
        await self._stream.send(item)
        if not asks:
            self._note(item)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> "_NotedWriter":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._stream.__aexit__(*error)
