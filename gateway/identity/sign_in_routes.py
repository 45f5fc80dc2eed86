"""Serve sign-in: the routes, and the layer around the whole application."""

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal, Protocol
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coterie.audit.audit_buffer import refusal
from coterie.audit.sent_records import moment
from coterie.dsl.sizes import MAX_BY_LENGTH
from coterie.dsl.visible import shortened_text
from coterie.gateway.identity.identity import Identity, deciding_name
from coterie.gateway.identity.local_sign_in import OPEN
from coterie.gateway.identity.provider_sign_in import CALLBACK, SIGNED_OUT, SignedIn
from coterie.gateway.identity.request_origins import own_path
from coterie.gateway.identity.session_cookies import (
    PENDING_PREFIX,
    RENEWAL_COOKIE,
    SESSION_COOKIE,
    drop_cookie,
)
from coterie.gateway.identity.sign_in_failures import SignInFailure
from coterie.gateway.identity.sign_in_gate import BACK_CHANNEL, SignInGate
from coterie.gateway.identity.sign_in_pages import (
    HEADERS,
    OPEN_SCRIPT,
    STYLE,
    failure_page,
    link_page,
    open_page,
    signed_out_page,
)
from coterie.workflows.core.audit_messages import AuditRecord
from coterie.workflows.core.senders import MAX_ADDRESS

SIGN_IN: Final = "/sign-in"
SIGN_OUT: Final = "/sign-out"
_IDENTITY: Final = "coterie_sign_in"
_MAX_FORM: Final = 50_000
_UNCOUNTED: Final = ("too_many_failures", "old_sign_in")
"""Failures that guess nothing: every web page can send a browser to the callback."""
_log = logging.getLogger("coterie")


async def authenticate(request: Request) -> Identity | None:
    """Return the verified identity of a request that came through `SignInLayer`."""
    identity = request.scope.get("state", {}).get(_IDENTITY)
    return identity if isinstance(identity, Identity) else None


class SignInLayer:
    """Stands around an application: verifies each request, and sets the cookies of renewals."""

    def __init__(self, app: ASGIApp, gate: SignInGate) -> None:
        """Take the application, and what verifies."""
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its identity, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        peer = scope.get("client") or ("", 0)
        address = self._gate.address(peer[0], headers)
        scope = {**scope, "client": (address, peer[1])}
        try:
            admission = await self._gate.admit(scope["method"], scope["path"], headers, address)
        except SignInFailure as failure:
            self._gate.audit.note(refusal(address, "request", failure.code))
            await failure_response(failure, scope["path"], headers)(scope, receive, send)
            return
        scope["state"] = {**scope.get("state", {}), _IDENTITY: admission.identity}
        await self._app(scope, receive, _with_cookies(send, admission.cookies))


def failure_response(failure: SignInFailure, path: str, headers: Headers) -> Response:
    """Return the response for a refused request: a page for browsers, else JSON."""
    more = dict(HEADERS)
    if failure.wait:
        more["Retry-After"] = str(max(1, round(failure.wait)))
    if failure.status == 401:
        more["WWW-Authenticate"] = 'Bearer error="invalid_token"'
    if "text/html" in headers.get("accept", "") and not path.startswith("/v1/"):
        return Response(failure_page(failure), failure.status, more, "text/html")
    report = {"code": failure.code, "message": failure.message, "fix": failure.fix}
    return Response(json.dumps(report), failure.status, more, "application/json")


def sign_in_routes(gate: SignInGate) -> list[Route]:
    """Return the routes of sign-in and sign-out."""
    routes = SignInRoutes(gate)
    return [
        Route(SIGN_IN, routes.begin),
        Route(CALLBACK, routes.finish),
        Route(OPEN, routes.open),
        Route("/open.js", _script),
        Route("/sign-in.css", _style),
        Route("/sign-in/code", routes.use_code, methods=["POST"]),
        Route(SIGN_OUT, routes.sign_out, methods=["POST"]),
        Route(SIGNED_OUT, _show_signed_out),
        Route(BACK_CHANNEL, routes.end_from_provider, methods=["POST"]),
    ]


class _Subject(Protocol):
    """Who signs in or out."""

    @property
    def subject(self) -> str: ...

    @property
    def method(self) -> str: ...

    @property
    def approver(self) -> str: ...


class SignInRoutes:
    """What the routes do, with one gate."""

    def __init__(self, gate: SignInGate) -> None:
        """Take the gate."""
        self._gate = gate

    async def begin(self, request: Request) -> Response:
        """Lead to the provider; without one, say how to get a link."""
        target = own_path(request.query_params.get("to"))
        provider = self._gate.provider
        if await authenticate(request) is not None:
            return _redirect(target)
        if provider is None:
            return _page(link_page())

        async def lead() -> Response:
            begun = await provider.begin(target)
            cookies = self._gate.pending_cookies(begun.pending, request.headers)
            return _redirect(begun.address, cookies)

        return await self._answer(request, lead)

    async def finish(self, request: Request) -> Response:
        """Take the provider's answer."""
        provider = self._gate.provider
        query = dict(request.query_params)
        state = query.get("state", "")
        if provider is None:
            return _page(link_page(), 404)

        async def finish() -> Response:
            pending = self._gate.pending(state, request.headers)
            signed_in = await provider.finish(query, pending)
            self._note(request, "signed in", signed_in.session)
            cookies = (
                *self._gate.session_cookies(signed_in),
                drop_cookie(PENDING_PREFIX + state),
            )
            return _redirect(own_path(pending and pending.target), cookies)

        return await self._answer(request, finish, counts=True)

    async def open(self, request: Request) -> Response:
        """Show the page that posts the code of a link."""
        if self._gate.local is None:
            return _redirect(SIGN_IN)
        return _page(open_page(own_path(request.query_params.get("to"))))

    async def use_code(self, request: Request) -> Response:
        """Sign the local user in by a code."""
        local = self._gate.local
        form = await _form(request)
        if local is None or form is None:
            return _page(link_page(), 400)

        async def use() -> Response:
            session = local.sign_in(form.get("code", ""))
            self._note(request, "signed in", session)
            cookies = self._gate.session_cookies(SignedIn(session, None))
            return _redirect(own_path(form.get("to")), cookies)

        return await self._answer(request, use, counts=True)

    async def sign_out(self, request: Request) -> Response:
        """End the session of this browser; continue at the provider.

        By a page and not by a redirect: `form-action 'self'` of our pages forbids that a form leads
        elsewhere.
        """
        cookies = (drop_cookie(SESSION_COOKIE), drop_cookie(RENEWAL_COOKIE))
        provider = self._gate.provider
        identity = await authenticate(request)
        if identity is not None:
            self._note(request, "signed out", identity)
        if provider is None:
            return _with_set_cookies(_page(signed_out_page(None)), cookies)
        address = await provider.sign_out(self._gate.renewal(request.headers))
        if address == SIGNED_OUT:
            return _with_set_cookies(_page(signed_out_page(None)), cookies)
        response = _page(signed_out_page(address))
        response.headers["Refresh"] = f"0; url={address}"
        return _with_set_cookies(response, cookies)

    async def end_from_provider(self, request: Request) -> Response:
        """End sessions that the provider ended: OIDC back-channel logout."""
        provider = self._gate.provider
        form = await _form(request)
        if provider is None or form is None:
            return Response(status_code=400, headers=HEADERS)

        async def end() -> Response:
            await provider.end_from_provider(form.get("logout_token", ""))
            return Response(status_code=200, headers=HEADERS)

        return await self._answer(request, end, counts=True)

    def _note(
        self, request: Request, act: Literal["signed in", "signed out"], who: _Subject
    ) -> None:
        """Have the audit log know of a person."""
        self._gate.audit.note(
            AuditRecord(
                act=act,
                at=moment(),
                subject=shortened_text(who.subject, MAX_BY_LENGTH),
                name=deciding_name(who.subject, who.approver),
                method=who.method,
                address=shortened_text(_address(request), MAX_ADDRESS),
                door="console",
            )
        )

    async def _answer(
        self, request: Request, work: Callable[[], Awaitable[Response]], *, counts: bool = False
    ) -> Response:
        """Return the response of one step of a sign-in; `counts`: its failures are limited."""
        address = _address(request)
        try:
            if counts:
                self._gate.check_failures(address)
            return await work()
        except SignInFailure as failure:
            if counts and failure.status < 500 and failure.code not in _UNCOUNTED:
                self._gate.failures.record(address, self._gate.clock())
            self._gate.audit.note(refusal(address, request.url.path, failure.code))
            _log.warning("a sign-in failed: %s (%s)", failure.message, failure.code)
            return failure_response(failure, request.url.path, request.headers)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


async def _script(_: Request) -> Response:
    return Response(OPEN_SCRIPT, headers=HEADERS, media_type="text/javascript")


async def _style(_: Request) -> Response:
    return Response(STYLE, headers=HEADERS, media_type="text/css")


async def _show_signed_out(_: Request) -> Response:
    return _page(signed_out_page(None))


async def _form(request: Request) -> dict[str, str] | None:
    """Return the fields of a form; None if it is too large, or no form."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > _MAX_FORM:
            return None
    try:
        fields = parse_qs(content.decode(), keep_blank_values=True, max_num_fields=20)
    except ValueError:
        return None
    return {name: values[0] for name, values in fields.items() if len(values) == 1}


def _page(html: str, status: int = 200) -> Response:
    return Response(html, status, HEADERS, "text/html")


def _redirect(address: str, cookies: Sequence[str] = ()) -> Response:
    response = RedirectResponse(address, 303, HEADERS)
    return _with_set_cookies(response, cookies)


def _with_set_cookies(response: Response, cookies: Sequence[str]) -> Response:
    for cookie in cookies:
        response.headers.append("Set-Cookie", cookie)
    return response


def _with_cookies(send: Send, cookies: Sequence[str]) -> Send:
    """Return what also sets cookies, unless the response sets those of its own."""
    if not cookies:
        return send

    async def send_with_cookies(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            set_names = {value.partition("=")[0] for value in headers.getlist("set-cookie")}
            for cookie in cookies:
                if cookie.partition("=")[0] not in set_names:
                    headers.append("set-cookie", cookie)
        await send(message)

    return send_with_cookies
