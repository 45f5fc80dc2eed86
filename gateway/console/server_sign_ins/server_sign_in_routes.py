"""Sign a person in at an MCP server for a waiting run; the answer of the request is the sign-in.

The gateway keeps nothing of a sign-in in progress: the browser has it, sealed. So it ends at any
gateway with the same keys, also after a restart.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from coterie.activities.mcp_client.pending_logins import PendingLogin
from coterie.audit.sent_records import audit_record
from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.documents.worker_trust import TrustedConfig
from coterie.failures import CommandError
from coterie.gateway.console.forms.sent_forms import text_of
from coterie.gateway.console.served_pages import HEADERS, answered, page_response, sent_form
from coterie.gateway.console.server_sign_ins.pending_cookies import (
    dropped,
    pending_cookies,
    pending_login,
)
from coterie.gateway.console.server_sign_ins.sign_in_view import ServerSignInPage
from coterie.gateway.endpoints import identity_of
from coterie.gateway.identity.console_address import run_url
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.identity.request_origins import own_origin
from coterie.gateway.identity.sign_in_gate import SignInGate
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.performance import permitted_run
from coterie.gateway.operations.request_decisions import approver_name, may_decide
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.inspection.open_requests import requests_in
from coterie.worker.server_sign_in import login_of
from coterie.worker.sign_in_files import SIGN_IN_PATH
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending

_CALLBACK: Final = "/callback"
_OPERATION: Final = "mcp sign-in"
_MAX_QUERY: Final = 8_000
_PEOPLE: Final = ("oidc", "local")
"""Methods of identities that have a session in a browser."""


def server_sign_in_routes(access: RunAccess, gate: SignInGate) -> Sequence[BaseRoute]:
    """Return the routes of sign-ins at MCP servers.

    Args:
        access: The runs, and the project.
        gate: Knows our own addresses, and the keys that seal what browsers keep.
    """
    routes = ServerSignIns(access, gate)
    path = f"{SIGN_IN_PATH}/{{server}}"
    return (
        Route(path, answered(routes.show)),
        Route(path, answered(routes.begin), methods=["POST"]),
        Route(path + _CALLBACK, routes.come_back(answered(routes.finish))),
    )


class ServerSignIns:
    """The three steps of a sign-in: the page, the link, and what the browser brings back."""

    def __init__(self, access: RunAccess, gate: SignInGate) -> None:
        """Take the runs, and what knows our own addresses and keys."""
        self._access = access
        self._gate = gate

    async def show(self, request: Request, identity: Identity) -> Response:
        """Show who wants the sign-in, and what it gives away."""
        server, run = _server(request), request.query_params.get("run", "")
        await self._check_wanted(await self._run(run, identity), server)
        page = self._page(await self._load_trusted(server), server, run)
        return self._answer(request, identity, page)

    async def begin(self, request: Request, identity: Identity) -> Response:
        """Lead to the authorization server; only a form of our own page may."""
        if identity.method not in _PEOPLE:
            raise Rejection(403, "not_allowed", "only a person in a browser signs in here")
        form = await sent_form(request)
        server, run = _server(request), text_of(form, "run")
        await self._check_wanted(await self._run(run, identity), server)
        trusted = await self._load_trusted(server)
        from coterie.worker.console_logins import begin_console_login

        begun = await begin_console_login(
            trusted, self._access.settings, server, self._redirect(server), _person(identity), run
        )
        page = self._page(trusted, server, run, begun.link)
        response = self._answer(request, identity, page)
        # By a page: `form-action 'self'` forbids that a form leads elsewhere.
        response.headers["Refresh"] = f"0; url={begun.link}"
        return _with_cookies(
            response, pending_cookies(self._gate.keys, begun.pending, request.headers)
        )

    def come_back(
        self, end: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint of the callback.

        Authorization servers know this machine by its number alone, and the session of the person
        belongs to the project's own host: the browser continues there.
        """

        async def endpoint(request: Request) -> Response:
            own = self._gate.origins[0]
            here = own_origin(request.headers.getlist("host"), self._gate.origins)
            query = request.url.query
            state = request.query_params.get("state", "")
            if len(query) > _MAX_QUERY:
                query, state = "", ""
            if here != own and self._pending(state, request) is None:
                target = f"{own}{SIGN_IN_PATH}/{quote(_server(request), safe='')}{_CALLBACK}"
                return RedirectResponse(f"{target}?{query}", 303, HEADERS)
            used = (
                state and identity_of(request) is not None
            )  # else it continues after a sign-in here
            return _with_cookies(await end(request), (dropped(state),) if used else ())

        return endpoint

    async def finish(self, request: Request, identity: Identity) -> Response:
        """Store what the browser brings back, and answer what waits for it."""
        query: Mapping[str, str] = dict(request.query_params)
        pending, server = self._pending(query.get("state", ""), request), _server(request)
        if pending is not None and (pending.server, pending.person) != (server, _person(identity)):
            pending = None
        if pending is None or len(request.url.query) > _MAX_QUERY:
            raise _sign_in_failure(
                "this sign-in began in another browser, or is used up", server, ""
            )
        found = await self._run(pending.run, identity)
        trusted = await self._load_trusted(server)
        from coterie.worker.console_logins import finish_console_login

        try:
            await finish_console_login(trusted, self._access.settings, pending, query)
        except CommandError as error:
            self._access.audit.note(audit_record("refused", _OPERATION, "sign_in_failed"))
            raise _sign_in_failure(str(error), server, pending.run) from None
        self._access.audit.note(audit_record("signed in", f"MCP server {server}"))
        goes_on = await self._approve(found, pending, identity)
        done = "signed-in" if goes_on else "signed-in-waits"
        return RedirectResponse(f"{run_url(pending.run)}?done={done}", 303, HEADERS)

    async def _approve(self, found: FoundRun, pending: PendingLogin, identity: Identity) -> bool:
        """Approve what waits for this sign-in in a run; return whether it then continues.

        The person is signed in, whatever comes of it: an approver can still let it continue.
        """
        settings, client = self._access.settings, self._access.client
        goes_on = True
        try:
            for one in await requests_in(settings, client, found.run):
                if one.request.sign_in != pending.server:
                    continue
                may = may_decide(identity, one.request)
                goes_on = may and await self._decide(found, one.request, identity) and goes_on
        except CommandError:  # somebody else was faster, or no worker answers
            return False
        return goes_on

    async def _decide(self, found: FoundRun, request: Pending, identity: Identity) -> bool:
        """Approve a request as the person; return whether no further approval is needed."""
        name = approver_name(identity)
        run = self._access.run(found.run.id)
        run.signer = self._access.signer(name, identity)
        decision = await run.decide(
            DecideInput(
                id=request.id,
                decision="approve",
                by=name,
                comment=f"signed in at {request.sign_in}",
                digest=request.digest,
            )
        )
        return decision.verdict == "approved"

    async def _run(self, run: str, identity: Identity) -> FoundRun:
        return await permitted_run(
            self._access, run, (Role.OPERATOR,), identity, _OPERATION, changes=True
        )

    async def _check_wanted(self, found: FoundRun, server: str) -> None:
        """Check that a run waits for the sign-in: all teams use it, so no other team replaces it.

        Raises:
            Rejection: No request of the run asks for it.
            CommandError: No worker answers.
        """
        for one in await requests_in(self._access.settings, self._access.client, found.run):
            if one.request.sign_in == server:
                return
        raise Rejection(
            409,
            "refused",
            f"the run {found.run.id!r} does not wait for a sign-in at {server!r}",
            "Open the run: what waits there has its own link.",
        )

    async def _load_trusted(self, server: str) -> TrustedConfig:
        """Return the worker's configuration, which has the server."""
        settings = self._access.settings
        trusted = await asyncio.to_thread(trusted_catalog, settings, Catalog(settings), None)
        try:
            login_of(trusted, server)
        except CommandError as error:
            raise Rejection(404, "unknown_server", str(error)) from None
        return trusted

    def _pending(self, state: str, request: Request) -> PendingLogin | None:
        return pending_login(self._gate.keys, state, request.headers) if state else None

    def _redirect(self, server: str) -> str:
        """Return where the browser comes back: one address for each server, against mix-ups."""
        origin = self._gate.origins[0]
        if self._gate.local is not None:  # authorization servers know no other name of this machine
            origin = next(own for own in self._gate.origins if "//127.0.0.1" in own)
        return f"{origin}{SIGN_IN_PATH}/{quote(server, safe='')}{_CALLBACK}"

    def _page(
        self, trusted: TrustedConfig, server: str, run: str, link: str = ""
    ) -> ServerSignInPage:
        return ServerSignInPage(
            server=server,
            address=trusted.mcp_servers[server].url or "",
            run=run,
            run_url=run_url(run),
            action=f"{SIGN_IN_PATH}/{quote(server, safe='')}",
            link=link,
            host=urlsplit(link).netloc,
        )

    def _answer(self, request: Request, identity: Identity, page: ServerSignInPage) -> Response:
        title = f"Sign in at {page.server}"
        return page_response(request, identity, "server_sign_in.html", title, page, tab="runs")


def _server(request: Request) -> str:
    return str(request.path_params["server"])


def _person(identity: Identity) -> str:
    return f"{identity.method}:{identity.subject}"


def _sign_in_failure(message: str, server: str, run: str) -> Rejection:
    where = f" for the run {run!r}" if run else ""
    fix = f"Begin again{where}, or run `coterie mcp login {server}` in the project of the worker."
    return Rejection(400, "sign_in_failed", message, fix)


def _with_cookies(response: Response, cookies: Sequence[str]) -> Response:
    for cookie in cookies:
        response.headers.append("Set-Cookie", cookie)
    return response
