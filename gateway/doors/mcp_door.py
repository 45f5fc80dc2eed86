"""The door for MCP clients beside the API: teams as tools, for programs with a token.

What serves them takes seconds to load, so it is loaded at the first request.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from coterie.audit.sent_records import audit_record
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.sizes import MAX_BY_LENGTH
from coterie.failures import CommandError
from coterie.gateway.doors.mcp_authoring_tools import AuthoringBench, AuthoringTools
from coterie.gateway.doors.mcp_deployed_teams import DeployedTools
from coterie.gateway.doors.mcp_run_tools import RunTools
from coterie.gateway.endpoints import IDENTITY, error_response
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import (
    SIGNED_OUT,
    UNEXPECTED,
    Rejection,
    failed_request,
)
from coterie.gateway.operations.permissions import Allowed, Denied, may
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_permissions import identity_name, require
from coterie.http_server.http_connections import REQUEST_SIGNER
from coterie.mcp_server.served_teams import ServedTeam, served_teams
from coterie.mcp_server.tool_sets import CALLER, CallerRole, ToolSet, VerifiedCaller
from coterie.settings import Settings

ServeMcp = Callable[
    [Settings, Mapping[str, ServedTeam], Callable[[ASGIApp], None]], Coroutine[Any, Any, None]
]

_OPENING_SECONDS = 60.0
_SIGNED_OUT = (SIGNED_OUT.report.code, SIGNED_OUT.report.message, SIGNED_OUT.report.fix)

_log = logging.getLogger("coterie")


class McpDoor:
    """Answers MCP clients; opened by its first one."""

    def __init__(self, access: RunAccess) -> None:
        """Take the project, whose teams it offers, and what signs."""
        self._access = access
        self._teams: dict[str, ServedTeam] = {}
        self._deployed = DeployedTools(access, self._teams)
        self._app: ASGIApp | None = None
        self._opened = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._bench = AuthoringBench(access.settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a verified program."""
        try:
            app = await self._app_for(scope)
        except (CommandError, InvalidDocument) as error:
            failed = failed_request(error)
            if failed.report.code == "not_allowed":
                self._note_refusal()
        except Exception:
            _log.exception("the door of MCP clients does not open")
            failed = UNEXPECTED
        else:
            await app(scope, receive, send)
            return
        headers = {"WWW-Authenticate": "Bearer"} if failed.status == SIGNED_OUT.status else {}
        await error_response(failed, headers)(scope, receive, send)

    async def _app_for(self, scope: Scope) -> ASGIApp:
        """Return what answers; note the verified name in the scope.

        Raises:
            CommandError: The program may not use it, or it cannot open.
        """
        identity: Identity | None = scope.get("state", {}).get(IDENTITY)
        if identity is None or "authorization" not in Headers(scope=scope):
            raise Rejection(
                SIGNED_OUT.status, *_SIGNED_OUT
            )  # a cookie alone would let pages of others in
        require(may(identity, tuple(Role), None))
        async with self._opening:
            app = await self._open()
        await self._deployed.take()
        teams = [team.name for team in self._teams.values()]
        scope["state"][CALLER] = caller_of(
            identity, teams, self._tool_sets(identity), self._note_refusal
        )
        scope["state"][REQUEST_SIGNER] = partial(self._access.signer, identity=identity)
        return app

    def _note_refusal(self) -> None:
        self._access.audit.note(audit_record("refused", "mcp", "not_allowed"))

    def _tool_sets(self, identity: Identity) -> Sequence[ToolSet]:
        async def access() -> RunAccess:
            return self._access

        def has_for_all(role: Role) -> bool:
            return any(grant.role == role and grant.teams == "*" for grant in identity.grants)

        authoring = AuthoringTools(
            self._bench,
            reads_files=has_for_all(Role.VIEWER),
            runs_tests=has_for_all(Role.STARTER),
        )
        return RunTools(access, identity), authoring

    async def _open(self) -> ASGIApp:
        if self._app is not None and self._serving is not None and not self._serving.done():
            return self._app
        self._teams = await asyncio.to_thread(served_teams, self._access.settings, (), None, None)
        self._deployed = DeployedTools(self._access, self._teams)
        self._opened.clear()
        self._serving = asyncio.create_task(self._serve())
        opening = asyncio.create_task(self._opened.wait())
        await asyncio.wait(
            {self._serving, opening}, timeout=_OPENING_SECONDS, return_when="FIRST_COMPLETED"
        )
        opening.cancel()
        if self._serving.done():
            await self._serving  # it only ends by an error
        if self._app is None:
            raise Rejection(503, "unanswered", "the door of MCP clients did not open in time")
        return self._app

    async def _serve(self) -> None:
        serve_mcp = await asyncio.to_thread(_load_server)
        await serve_mcp(self._access.settings, self._teams, self._set_app)

    def _set_app(self, app: ASGIApp) -> None:
        self._app = app
        self._opened.set()

    async def close(self) -> None:
        """Stop serving the runs of clients; they continue at the next start."""
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait({self._serving})
        await self._bench.close()


def caller_of(
    identity: Identity,
    teams: Collection[str],
    tool_sets: Sequence[ToolSet] = (),
    note_refusal: Callable[[], None] = lambda: None,
) -> VerifiedCaller:
    """Return what a client may do, and under which names it sends messages and decides."""
    is_approver = all(isinstance(may(identity, (Role.APPROVER,), team), Allowed) for team in teams)
    has_name = is_approver and len(identity.approver) <= MAX_BY_LENGTH

    def permits(roles: Sequence[CallerRole], team: str) -> str | None:
        match may(identity, tuple(map(Role, roles)), team):
            case Allowed():
                return None
            case Denied(because=because, is_unseen=is_unseen):
                return "" if is_unseen else because

    name = identity.approver if has_name else ""
    return VerifiedCaller(identity_name(identity), name, permits, note_refusal, tuple(tool_sets))


def _load_server() -> ServeMcp:
    from coterie.gateway.doors.mcp_application import serve_mcp

    return serve_mcp
