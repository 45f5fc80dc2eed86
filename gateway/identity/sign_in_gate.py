"""Decide who sends a request: its address, its origin, its token or session."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from starlette.datastructures import Headers

from coterie.audit.audit_buffer import AuditBuffer
from coterie.dsl.model.sections.access_document import AccessSection
from coterie.failures import CommandError
from coterie.gateway.identity.client_addresses import client_address, networks_of
from coterie.gateway.identity.failed_sign_ins import FailedSignIns
from coterie.gateway.identity.identity import Identity
from coterie.gateway.identity.local_sign_in import LocalSignIn
from coterie.gateway.identity.program_tokens import PREFIX, TokenFile
from coterie.gateway.identity.protected_resource import RESOURCE_PATH, protected_resource
from coterie.gateway.identity.provider_sign_in import ProviderSignIn, SignedIn
from coterie.gateway.identity.request_origins import crossing, own_origin
from coterie.gateway.identity.sealed_values import SealKeys
from coterie.gateway.identity.session_cookies import (
    MAX_COOKIE,
    MAX_PENDING,
    PENDING_LIFE,
    PENDING_PREFIX,
    RENEWAL_COOKIE,
    SESSION_COOKIE,
    PendingSignIn,
    PersonSession,
    Renewal,
    cookies_in,
    drop_cookie,
    identity_of_session,
    set_cookie,
)
from coterie.gateway.identity.sign_in_failures import SignInFailure, provider_invalid

BACK_CHANNEL = "/sign-in/ended-at-provider"
"""The provider posts here, without an origin; its token proves who it is."""

_LOCAL_RENEWAL = 3600.0
"""Seconds after which the session of a local user begins anew with a request."""


class Admission(NamedTuple):
    """Who sends a request, and what its response must set."""

    address: str
    """Of the client, behind our proxies."""
    identity: Identity | None
    """None: it shows none; what it asks for decides whether that is refused."""
    cookies: tuple[str, ...] = ()


class SignInGate:
    """All that a gateway knows of identities: it keeps no session."""

    def __init__(
        self,
        access: AccessSection,
        keys: SealKeys,
        tokens: TokenFile,
        origins: Sequence[str],
        *,
        local: LocalSignIn | None = None,
        provider: ProviderSignIn | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take the configuration and our own origins; people sign in in one of two ways."""
        self.access = access
        self.local = local
        self.provider = provider
        self.origins = tuple(origins)
        self.resource = protected_resource(access)
        """What MCP clients must know to sign in; None without a provider."""
        self.failures = FailedSignIns()
        self.audit = AuditBuffer()
        """What the audit log shall know."""
        self.clock = clock
        self.keys = keys
        """Seal what browsers keep."""
        self._tokens = tokens
        self._proxies = networks_of(access.proxies)

    def address(self, peer: str, headers: Headers) -> str:
        """Return the address of a client, behind our proxies."""
        return client_address(peer, headers.getlist("x-forwarded-for"), self._proxies)

    async def admit(self, method: str, path: str, headers: Headers, address: str) -> Admission:
        """Return who sends a request.

        A token counts alone, without cookies: it needs no origin, because no page of others has it.

        Raises:
            SignInFailure: The request is refused, whatever it asks for.
        """
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":  # a proxy may add others, for itself
            return Admission(address, await self._of_token(token.strip(), address, path))
        origin = own_origin(headers.getlist("host"), self.origins)
        if origin is None:
            raise SignInFailure(
                "other_host",
                "the header Host names another server",
                f"Open {self.origins[0]} instead.",
                status=421,
            )
        crossed = crossing(
            method, headers.getlist("sec-fetch-site"), headers.getlist("origin"), origin
        )
        cookies = cookies_in(headers.getlist("cookie"))
        if crossed == "no origin" and SESSION_COOKIE not in cookies:
            return Admission(address, None)  # a program that has not shown its token
        if crossed is not None and path != BACK_CHANNEL:
            raise SignInFailure(
                "other_origin",
                f"a request that changes something must come from our own pages ({crossed})",
                "Send it from a page of this server, or with a token: "
                "`Authorization: Bearer TOKEN`.",
            )
        return await self._of_session(cookies, address)

    def check_failures(self, address: str) -> None:
        """Refuse an address with too many failed sign-ins.

        Raises:
            SignInFailure: It must wait.
        """
        wait = self.failures.wait_for(address, self.clock())
        if wait > 0:
            raise SignInFailure(
                "too_many_failures",
                "too many sign-ins failed from this address",
                f"Wait {wait:.0f} s, then try again.",
                status=429,
                wait=wait,
            )

    def session_cookies(self, signed_in: SignedIn) -> tuple[str, ...]:
        """Return the headers that keep a session in the browser.

        Raises:
            SignInFailure: It does not fit in a cookie.
        """
        session, renewal = signed_in
        lasts = renewal is not None or session.method == "local"
        seconds = (session.ends if lasts else session.expires) - self.clock()
        sealed = self.keys.seal("session", session)
        if len(sealed) > MAX_COOKIE - len(SESSION_COOKIE):
            raise provider_invalid("more groups than a cookie holds")
        cookies = [set_cookie(SESSION_COOKIE, sealed, seconds)]
        kept = "" if renewal is None else self.keys.seal("renewal", renewal)
        if kept and len(kept) <= MAX_COOKIE - len(RENEWAL_COOKIE):
            cookies.append(set_cookie(RENEWAL_COOKIE, kept, seconds))
        else:  # a new sign-in after 15 minutes, which the provider mostly does without a question
            cookies.append(drop_cookie(RENEWAL_COOKIE))
        return tuple(cookies)

    def pending_cookies(self, pending: PendingSignIn, headers: Headers) -> tuple[str, ...]:
        """Return the headers that keep a sign-in in progress, and drop the oldest beyond a few."""
        cookies = cookies_in(headers.getlist("cookie"))
        others = [name for name in cookies if name.startswith(PENDING_PREFIX)]
        name = PENDING_PREFIX + pending.state
        sealed = self.keys.seal("sign-in", pending)
        surplus = others[: max(0, len(others) + 1 - MAX_PENDING)]
        return (set_cookie(name, sealed, PENDING_LIFE), *map(drop_cookie, surplus))

    def pending(self, state: str, headers: Headers) -> PendingSignIn | None:
        """Return the sign-in in progress of a state; None if this browser has none."""
        cookies = cookies_in(headers.getlist("cookie"))
        return self.keys.open("sign-in", cookies.get(PENDING_PREFIX + state), PendingSignIn)

    def renewal(self, headers: Headers) -> Renewal | None:
        """Return what renews the session of a request."""
        cookies = cookies_in(headers.getlist("cookie"))
        return self.keys.open("renewal", cookies.get(RENEWAL_COOKIE), Renewal)

    async def _of_token(self, token: str, address: str, path: str) -> Identity:
        try:
            identity = self._tokens.identity(token, self.clock())
        except CommandError:
            if token.startswith(PREFIX):
                raise SignInFailure(
                    "token_invalid",
                    "the tokens cannot be read, so none counts",
                    "Ask whoever runs Coterie to look at `coterie tokens list`.",
                    status=503,
                ) from None
            identity = None
        if identity is None and self.provider is not None:
            resource = self.resource if path == RESOURCE_PATH else None
            identity = await self.provider.bearer(token, resource and resource.address)
        if identity is None:
            self.check_failures(address)
            self.failures.record(address, self.clock())
            raise SignInFailure(
                "token_invalid",
                "the token is unknown, revoked or past its end",
                "Send a valid one: `Authorization: Bearer TOKEN`.",
                status=401,
            )
        return identity

    async def _of_session(self, cookies: dict[str, str], address: str) -> Admission:
        sealed = cookies.get(SESSION_COOKIE)
        session = self.keys.open("session", sealed, PersonSession)
        if session is None:
            return Admission(address, None)
        if session.method == "local":
            return self._of_local_session(session, address)
        dropped = Admission(
            address, None, (drop_cookie(SESSION_COOKIE), drop_cookie(RENEWAL_COOKIE))
        )
        if self.provider is None or self.provider.ended.has(session):
            return dropped
        if self.clock() < session.expires:
            return Admission(address, identity_of_session(session, self.access))
        renewal = self.keys.open("renewal", cookies.get(RENEWAL_COOKIE), Renewal)
        if renewal is None or renewal.subject != session.subject:
            return dropped
        renewed = await self.provider.renew(session, renewal)
        if renewed is None or self.provider.ended.has(renewed.session):
            return dropped
        identity = identity_of_session(renewed.session, self.access)
        return Admission(address, identity, self.session_cookies(renewed))

    def _of_local_session(self, session: PersonSession, address: str) -> Admission:
        now = self.clock()
        if self.local is None or now >= session.expires:
            return Admission(address, None, (drop_cookie(SESSION_COOKIE),))
        cookies: tuple[str, ...] = ()
        if now >= session.issued + _LOCAL_RENEWAL:
            session = session.model_copy(update={"issued": now})
            cookies = self.session_cookies(SignedIn(session, None))
        return Admission(address, identity_of_session(session, self.access), cookies)
