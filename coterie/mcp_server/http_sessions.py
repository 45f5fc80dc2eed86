"""Keep a bounded number of MCP sessions open: the oldest idle one makes room for the next.

A client that vanishes does not end its session, so those left behind would shut out everybody else
until they expire. A session without a request in progress counts as idle; its client begins
another one when it returns, as the protocol wants.
"""

from typing import Final

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SESSION: Final = MCP_SESSION_ID_HEADER.lower().encode()


class SessionPlaces:
    """Counts the sessions of an MCP application, and ends idle ones."""

    def __init__(self, app: ASGIApp, maximum: int) -> None:
        """Take the application, and how many sessions may be open."""
        self._app = app
        self._maximum = maximum
        self._requests: dict[str, int] = {}
        """Requests in progress of each session, the one that is idle for longest first."""
        self._opening = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, after making room for the session that it may open."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        session = headers.get(MCP_SESSION_ID_HEADER)
        if session is not None:
            await self._within(session, scope, receive, send)
        elif headers.get(MCP_PROTOCOL_VERSION_HEADER) in (None, *HANDSHAKE_PROTOCOL_VERSIONS):
            await self._open(scope, receive, send)
        else:  # newer clients have no sessions
            await self._app(scope, receive, send)

    async def _within(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of a session, which is not idle until the response is whole.

        A client may send its next request before the application returns, so the request ends just
        before the last part of its response is sent.
        """
        in_progress = session in self._requests
        if in_progress:
            self._requests[session] += 1

        def end() -> None:
            nonlocal in_progress
            left = self._requests.pop(session, 0) - 1 if in_progress else -1
            if left >= 0 and scope["method"] != "DELETE":
                self._requests[session] = left
            in_progress = False

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                end()
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            end()

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that may open a session, which counts from then on as that session."""
        opening = True
        self._opening += 1

        def end() -> None:
            nonlocal opening
            self._opening -= opening
            opening = False

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                for name, value in message["headers"]:
                    if name.lower() == _SESSION:
                        self._requests[value.decode("latin-1")] = 0
                        end()
            await send(message)

        try:
            while len(self._requests) + self._opening > self._maximum:
                idle = next((one for one, count in self._requests.items() if count == 0), None)
                if idle is None:
                    break  # the application refuses the request
                del self._requests[idle]
                await self._end(idle, scope)
            await self._app(scope, receive, watch)
        finally:
            end()

    async def _end(self, session: str, scope: Scope) -> None:
        """End a session as its client would."""
        kept = [(name, value) for name, value in scope["headers"] if name in (b"host", b"origin")]
        own = {**scope, "method": "DELETE", "headers": [*kept, (_SESSION, session.encode())]}

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def drop(_: Message) -> None:
            """Nobody reads the answer."""

        await self._app(own, receive, drop)
