"""The door for A2A clients: opened by its first one, since its SDK takes a second to load."""

import asyncio
import logging

from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from coterie.activities.extra_packages import install_command
from coterie.gateway.doors.a2a.bounded_requests import bounded_receive
from coterie.gateway.endpoints import IDENTITY, error_response
from coterie.gateway.operations.error_reports import (
    SIGNED_OUT,
    UNEXPECTED,
    FailedRequest,
    Rejection,
)
from coterie.gateway.operations.expected_errors import EXPECTED_ERRORS, failed_work
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.request_gate import A2A_PATH
from coterie.gateway.streams.stream_hub import StreamHub

CARD_PATH = "/.well-known/agent-card.json"

_log = logging.getLogger("coterie")
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 413: {"Connection": "close"}}


class A2aDoor:
    """Answers A2A clients that show a token."""

    def __init__(self, access: RunAccess) -> None:
        """Take the runs."""
        self._access = access
        self._app: ASGIApp | None = None
        self._opening = asyncio.Lock()

    @property
    def routes(self) -> tuple[BaseRoute, ...]:
        """Its routes in the gateway."""
        return (
            Route(A2A_PATH, self),
            Route(f"{A2A_PATH}/{{path:path}}", self),
            Route(CARD_PATH, self),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        failed = self._refusal(scope)
        if failed is None:
            try:
                async with self._opening:
                    app = await self._open(scope)
                receive = await bounded_receive(scope, receive)
            except EXPECTED_ERRORS as error:
                failed = failed_work(error)
            except Exception:
                _log.exception("the door of A2A clients does not open")
                failed = UNEXPECTED
            else:
                raw: bytes = scope.get("raw_path") or scope["path"].encode()
                # names of teams and ids of runs may have slashes, which are quoted there
                inner = {**scope, "path": raw.decode("ascii", "replace"), "root_path": ""}
                await app(inner, receive, send)
                return
        headers = _HEADERS.get(failed.status, {})
        await error_response(failed, headers)(scope, receive, send)

    def _refusal(self, scope: Scope) -> FailedRequest | None:
        """Return why a request is not answered: a cookie alone would let pages of others in."""
        identity = scope.get("state", {}).get(IDENTITY)
        if identity is None or "authorization" not in Headers(scope=scope):
            return SIGNED_OUT
        return None

    async def _open(self, scope: Scope) -> ASGIApp:
        if self._app is None:
            hub: StreamHub = scope["app"].state.streams
            self._app = await asyncio.to_thread(_load, self._access, hub)
        return self._app


def _load(access: RunAccess, hub: StreamHub) -> ASGIApp:
    try:
        from coterie.gateway.doors.a2a.a2a_application import a2a_application
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("a2a", "google"):
            raise
        raise Rejection(
            501,
            "not_installed",
            "this gateway has no SDK for A2A",
            f"Install it where the gateway runs: {install_command('a2a')}.",
        ) from None
    return a2a_application(access, hub)
