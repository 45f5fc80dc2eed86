"""Speak MCP over streamable HTTP, to clients of this machine that know the token.

Any web page that a person opens may send requests to this machine. So the server listens at
127.0.0.1 alone, refuses other names in `Host` and other pages in `Origin`, and wants a token.
"""

import asyncio
import hmac
import secrets
import socket
from pathlib import Path
from typing import Final, cast

import uvicorn
from mcp.server import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.project_files import write_private
from coterie.failures import CommandError
from coterie.http_server.http_connections import (
    CONNECTION,
    ConnectionLimits,
    HttpConnection,
    connection_maker,
)
from coterie.http_server.http_listener import HttpServer
from coterie.settings import Settings, state_folder

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
            open_count = self._requests.pop(session, 0) - 1 if in_progress else -1
            if open_count >= 0 and scope["method"] != "DELETE":
                self._requests[session] = open_count
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
                idle = next(
                    (candidate for candidate, count in self._requests.items() if count == 0), None
                )
                if idle is None:
                    break  # the application refuses the request
                del self._requests[idle]
                await self._end(idle, scope)
            await self._app(scope, receive, watch)
        finally:
            end()

    async def _end(self, session: str, scope: Scope) -> None:
        """End a session as its client would."""
        headers = [
            (name, value) for name, value in scope["headers"] if name in (b"host", b"origin")
        ]
        own = {**scope, "method": "DELETE", "headers": [*headers, (_SESSION, session.encode())]}

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def drop(_: Message) -> None:
            """Nobody reads the answer."""

        await self._app(own, receive, drop)


PATH = "/mcp"
TOKEN_FILE = "mcp_token"
"""In the project's state folder, for its owner alone."""

_MIN_TOKEN_LENGTH = 16
_NAMES = ("127.0.0.1", "localhost")
_GRACE_SECONDS = 2


def http_token(settings: Settings, variable: str | None) -> str:
    """Return the token that clients must send.

    Args:
        settings: The project, which keeps a token of its own.
        variable: The environment variable that has it instead.

    Raises:
        CommandError: The variable has none, or the file cannot be read or written.
    """
    if variable is not None:
        token = settings.secret(variable)
        if token is None or len(token) < _MIN_TOKEN_LENGTH:
            raise CommandError(
                f"the environment variable {variable} has no token of at least "
                f"{_MIN_TOKEN_LENGTH} characters; set it, or leave out --token-env"
            )
        return token
    file = token_file(settings)
    try:
        state_folder(settings)
        token = file.read_text(encoding="utf-8").strip() if file.exists() else ""
        if len(token) < _MIN_TOKEN_LENGTH:
            token = secrets.token_urlsafe(32)
            write_private(file, f"{token}\n")
    except OSError as error:
        raise CommandError(f"could not read or write {file}: {reason_of(error)}") from None
    return token


def token_file(settings: Settings) -> Path:
    """Return the file with the project's own token."""
    return settings.state / TOKEN_FILE


async def speak_http(
    server: Server, at: socket.socket, token: str, limits: ConnectionLimits | None = None
) -> None:
    """Serve clients until it is cancelled."""
    limits = limits or ConnectionLimits()
    port = at.getsockname()[1]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_sessions=limits.sessions,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[f"{name}:{port}" for name in _NAMES],
            allowed_origins=[f"http://{name}:{port}" for name in _NAMES],
        ),
    )
    config = uvicorn.Config(
        _TokenGuard(SessionPlaces(app, limits.sessions), token),
        log_config=None,
        access_log=False,
        http=cast("type[asyncio.Protocol]", connection_maker(limits)),
        ws="none",
        backlog=limits.backlog,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    await HttpServer(config).serve(sockets=[at])


class _TokenGuard:
    """Refuses requests without the token, and those of too many connections with it."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with 401 or 503 and close its connection."""
        app = self._app
        if scope["type"] == "http":
            scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
            is_known = hmac.compare_digest(token.strip().encode(), self._wanted)
            connection: HttpConnection = scope["state"][CONNECTION]
            if scheme.lower() != "bearer" or not is_known:  # a scheme has no case
                app = Response(
                    "the header Authorization must be: Bearer TOKEN\n",
                    status_code=401,
                    headers={"WWW-Authenticate": "Bearer", "Connection": "close"},
                )
            elif not connection.authorize():
                app = Response(
                    "too many connections are open; close some, or try again later\n",
                    status_code=503,
                    headers={"Retry-After": "1", "Connection": "close"},
                )
        await app(scope, receive, send)
