"""What every request passes first: bounds, and who asks.

Below `/v1` and `/agui`, and at `/mcp`, nothing is answered to who does not show an identity.
"""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coterie.dsl.sizes import MAX_BY_LENGTH
from coterie.dsl.visible import shortened_text
from coterie.gateway.endpoints import API, IDENTITY, error_response
from coterie.gateway.identity.identity import Identity, deciding_name
from coterie.gateway.identity.protected_resource import RESOURCE_PATH
from coterie.gateway.operations.error_reports import SIGNED_OUT, ErrorReport, FailedRequest
from coterie.http_server.http_connections import CONNECTION, REQUEST_SENDER, HttpConnection
from coterie.server.message_senders import sent_by
from coterie.workflows.core.senders import MAX_ADDRESS, Door, Sender

Authenticate = Callable[[Request], Awaitable[Identity | None]]
"""Returns the verified identity of a request; None if it shows none, or one that is not valid."""

MCP_PATH: Final = RESOURCE_PATH
SLACK_PATH: Final = "/slack"
"""Slack proves itself by its signature; the gate lets it through without an identity."""
OPENAI_PATHS: Final = tuple(f"{API}/{name}" for name in ("chat/completions", "responses", "models"))
"""Where clients of OpenAI's API ask."""
AGUI_PATH: Final = "/agui"
A2A_PATH: Final = "/a2a"
MAX_BODY: Final = 4 * 1024 * 1024
"""Bytes: a run's input has at most 2 MB, and JSON may escape it."""
MAX_HEADER: Final = 64 * 1024
"""Bytes: each character of an address may take twelve."""
MAX_PATH: Final = 16 * 1024

TOO_LARGE: Final = FailedRequest(
    413,
    ErrorReport(
        code="too_large",
        message=f"the body has more than {MAX_BODY:,} bytes",
        fix="Put large values into files of the workspace, which tool functions can read.",
    ),
)
_TOO_LONG: Final = FailedRequest(
    414, ErrorReport(code="too_long", message=f"the path has more than {MAX_PATH:,} bytes")
)
_UNREADABLE_HEADS: Final = {
    HTTPStatus.REQUEST_URI_TOO_LONG: FailedRequest(
        414,
        ErrorReport(code="too_long", message=f"the address has more than {MAX_HEADER:,} bytes"),
    ),
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: FailedRequest(
        431,
        ErrorReport(code="too_long", message=f"the header has more than {MAX_HEADER:,} bytes"),
    ),
    HTTPStatus.BAD_REQUEST: FailedRequest(
        400, ErrorReport(code="unreadable_request", message="the request is not HTTP/1.1")
    ),
}
_TOO_MANY: Final = FailedRequest(
    503,
    ErrorReport(
        code="too_many_connections",
        message="too many connections are open",
        fix="Close some, or repeat the request later.",
    ),
)


def refuse_head(status: HTTPStatus) -> Response:
    """Return the response for a request whose line or header cannot be read, or is too long."""
    return error_response(_UNREADABLE_HEADS[status])


def is_below(path: str, root: str) -> bool:
    """Return whether a path is another one, or below it."""
    return path == root or path.startswith(f"{root}/")


def sender_of(identity: Identity, scope: Scope) -> Sender:
    """Return who sends what a request makes a run do; the address is that behind our proxies."""
    client: tuple[str, int] = scope.get("client") or ("", 0)
    return Sender(
        subject=shortened_text(identity.subject, MAX_BY_LENGTH),
        name=deciding_name(identity.subject, identity.approver),
        method=identity.method,
        address=shortened_text(client[0], MAX_ADDRESS),
        door=_door(scope["path"]),
    )


def _door(path: str) -> Door:
    if is_below(path, MCP_PATH):
        return "mcp"
    if is_below(path, SLACK_PATH):
        return "slack"
    if any(is_below(path, root) for root in OPENAI_PATHS):
        return "openai"
    if is_below(path, AGUI_PATH):
        return "agui"
    if is_below(path, A2A_PATH):
        return "a2a"
    return "api" if is_below(path, API) else "console"


class BodyTooLargeError(Exception):
    """The body exceeds its bound."""


class RequestGate:
    """Verifies who asks, and passes on what is within bounds."""

    def __init__(self, app: ASGIApp, authenticate: Authenticate) -> None:
        """Take the application, and what verifies a request."""
        self._app = app
        self._authenticate = authenticate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = await self._check_request(scope)
        if refused is not None:
            response = error_response(refused, {"Connection": "close"})
            await response(scope, receive, send)
            return
        sender: Sender | None = scope["state"].get(REQUEST_SENDER)
        with nullcontext() if sender is None else sent_by(sender):
            await self._pass(scope, receive, send)

    async def _check_request(self, scope: Scope) -> FailedRequest | None:
        """Return why a request is not passed on; note its identity and its path as sent."""
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        if len(raw_path) > MAX_PATH:
            return _TOO_LONG
        request = Request(scope)
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY:
            return TOO_LARGE
        identity = await self._authenticate(request)
        scope.setdefault("state", {})[IDENTITY] = identity
        if identity is not None:
            scope["state"][REQUEST_SENDER] = sender_of(identity, scope)
            connection: HttpConnection | None = scope["state"].get(CONNECTION)
            who = f"{identity.method}:{identity.subject}"
            if connection is not None and not connection.authorize(who):
                return _TOO_MANY
        if not any(is_below(scope["path"], path) for path in (API, MCP_PATH, AGUI_PATH)):
            return None
        if identity is None:
            return SIGNED_OUT
        if is_below(scope["path"], API):
            scope["path"] = raw_path.decode("ascii", "replace")  # ids may have slashes
        return None

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and end one whose body grows beyond its bound."""
        size = 0
        began = False

        async def bounded() -> Message:
            nonlocal size
            message = await receive()
            if message["type"] == "http.request":
                size += len(message.get("body", b""))
                if size > MAX_BODY:
                    raise BodyTooLargeError
            return message

        async def watched(message: Message) -> None:
            nonlocal began
            began = began or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, bounded, watched)
        except BodyTooLargeError:
            if not began:
                await error_response(TOO_LARGE, {"Connection": "close"})(scope, receive, send)
