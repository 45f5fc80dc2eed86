"""Sign people in at an OIDC provider: code flow with PKCE; renewal; both logouts."""

import asyncio
import base64
import hmac
import secrets
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import urlencode

from coterie.dsl.model.sections.access_document import AccessSection, OidcSection
from coterie.dsl.values import Json, JsonValue
from coterie.dsl.visible import shortened_text
from coterie.gateway.identity.access_rules import (
    approver_of,
    display_name,
    groups_in,
    identity_of_access_token,
    named_groups,
)
from coterie.gateway.identity.identity import Identity
from coterie.gateway.identity.oidc_provider import GrantRefusedError, OidcProvider, TokenAnswer
from coterie.gateway.identity.session_cookies import (
    PENDING_LIFE,
    EndedSessions,
    PendingSignIn,
    PersonSession,
    Renewal,
)
from coterie.gateway.identity.sign_in_failures import SignInFailure, provider_invalid
from coterie.gateway.identity.token_claims import (
    ClaimRules,
    SignedClaims,
    access_token_problem,
    id_token_problem,
    key_id_of,
    logout_token_problem,
    signed_claims,
)

CALLBACK = "/sign-in/callback"
SIGNED_OUT = "/signed-out"
_RENEWALS_KEPT = 60.0
"""Seconds: requests that a page sends at once share one renewal, and one refresh token."""


class Begun(NamedTuple):
    """A sign-in that continues at the provider."""

    address: str
    pending: PendingSignIn


class SignedIn(NamedTuple):
    """A session, and what renews it; None: it ends after its life."""

    session: PersonSession
    renewal: Renewal | None


class ProviderSignIn:
    """The flows of one client of one provider."""

    def __init__(
        self,
        access: AccessSection,
        oidc: OidcSection,
        provider: OidcProvider,
        public_url: str,
        clock: Callable[[], float],
    ) -> None:
        """Take the configuration, the provider, and our own address."""
        self._access = access
        self._oidc = oidc
        self._provider = provider
        self._public_url = public_url
        self._clock = clock
        self.ended = EndedSessions()
        self._renewals: dict[str, asyncio.Task[SignedIn | None]] = {}

    async def begin(self, target: str) -> Begun:
        """Return where the person signs in, and what the callback must know.

        Raises:
            SignInFailure: The provider does not answer.
        """
        metadata = await self._provider.metadata()
        pending = PendingSignIn(
            state=secrets.token_urlsafe(16),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            target=target,
            expires=self._clock() + PENDING_LIFE,
        )
        challenge = base64.urlsafe_b64encode(sha256(pending.verifier.encode()).digest())
        query = {
            "response_type": "code",
            "client_id": self._oidc.client_id,
            "redirect_uri": self._redirect_uri,
            "scope": " ".join(dict.fromkeys(("openid", *self._oidc.scopes))),
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": challenge.decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        return Begun(_with_query(metadata.authorization_endpoint, query), pending)

    async def finish(self, query: Mapping[str, str], pending: PendingSignIn | None) -> SignedIn:
        """Return the session for the provider's answer at the callback.

        Args:
            query: Of the callback.
            pending: What `begin` gave, from the cookie of this state.

        Raises:
            SignInFailure: The answer does not belong to a sign-in of this browser, or is refused.
        """
        now = self._clock()
        state = query.get("state", "")
        if (
            pending is None
            or pending.expires <= now
            or not hmac.compare_digest(state.encode(), pending.state.encode())
        ):
            raise SignInFailure(
                "old_sign_in",
                "this sign-in is old, or began in another browser",
                "Begin again from the page that you wanted.",
            )
        metadata = await self._provider.metadata()
        issuer = query.get("iss")
        if issuer != metadata.issuer and (
            issuer is not None or metadata.authorization_response_iss_parameter_supported
        ):
            raise provider_invalid("its answer names another issuer")
        if "error" in query or "code" not in query:
            raise _refused_by_provider("the sign-in")
        try:
            answer = await self._provider.exchange(
                query["code"], pending.verifier, self._redirect_uri
            )
        except GrantRefusedError:
            raise _refused_by_provider("the code") from None
        return await self._session_of(answer, pending.nonce, None)

    async def renew(self, session: PersonSession, renewal: Renewal) -> SignedIn | None:
        """Return a session that the provider vouches for again; None if it does not.

        Raises:
            SignInFailure: It does not answer.
        """
        key = sha256(renewal.token.encode()).hexdigest()
        task = self._renewals.get(key)
        if task is None:
            task = asyncio.create_task(self._renew(session, renewal))
            self._renewals[key] = task
            asyncio.get_running_loop().call_later(_RENEWALS_KEPT, self._renewals.pop, key, None)
        try:
            return await asyncio.shield(task)
        except SignInFailure:
            self._renewals.pop(key, None)
            raise

    async def bearer(self, token: str, resource: str | None = None) -> Identity | None:
        """Return whom an access token of the provider stands for; None if it is not valid.

        Args:
            token: As shown.
            resource: The address that is asked, if tokens made for it alone count there, too.

        Raises:
            SignInFailure: The provider's keys cannot be read.
        """
        audiences = {self._oidc.audience, resource} - {None}
        if not audiences or token.count(".") != 2:
            return None
        signed = await self._verify(token)
        if signed is None or not any(
            audience and access_token_problem(signed, self._rules, audience) is None
            for audience in audiences
        ):
            return None
        return identity_of_access_token(
            signed.claims, self._access, self._oidc, for_resource=resource is not None
        )

    async def end_from_provider(self, token: str) -> None:
        """End the sessions that a back-channel logout token names.

        Raises:
            SignInFailure: The token is not valid.
        """
        signed = await self._verify(token)
        problem = (
            "signature"
            if signed is None
            else logout_token_problem(signed, self._rules, self._oidc.client_id)
        )
        if signed is None or problem is not None:
            raise SignInFailure(
                "token_invalid",
                f"the logout token is not valid: {problem}",
                "Compare `access.oidc` with the provider's settings.",
                status=400,
            )
        subject, provider_session = signed.claims.get("sub"), signed.claims.get("sid")
        self.ended.end(
            subject if isinstance(subject, str) else None,
            provider_session if isinstance(provider_session, str) else None,
            self._clock(),
        )

    async def sign_out(self, renewal: Renewal | None) -> str:
        """Revoke what renews a session; return where the browser signs out at the provider."""
        try:
            if renewal is not None:
                await self._provider.revoke(renewal.token)
            metadata = await self._provider.metadata()
        except SignInFailure:
            return SIGNED_OUT
        if metadata.end_session_endpoint is None:
            return SIGNED_OUT
        query = {
            "client_id": self._oidc.client_id,
            "post_logout_redirect_uri": f"{self._public_url}{SIGNED_OUT}",
        }
        return _with_query(metadata.end_session_endpoint, query)

    async def close(self) -> None:
        """Close the connections to the provider."""
        await self._provider.close()

    @property
    def _redirect_uri(self) -> str:
        return f"{self._public_url}{CALLBACK}"

    @property
    def _rules(self) -> ClaimRules:
        return ClaimRules(self._oidc.issuer, self._clock(), self._oidc.clock_skew)

    async def _renew(self, session: PersonSession, renewal: Renewal) -> SignedIn | None:
        if self._clock() >= session.ends:
            return None
        try:
            answer = await self._provider.renew(renewal.token)
        except GrantRefusedError:
            return None
        if answer.id_token is None:  # it would not say whether groups or approver still hold
            return None
        if answer.refresh_token is None:
            answer = answer.model_copy(update={"refresh_token": renewal.token})
        renewed = await self._session_of(answer, None, session)
        return renewed if renewed.session.subject == session.subject else None

    async def _session_of(
        self, answer: TokenAnswer, nonce: str | None, before: PersonSession | None
    ) -> SignedIn:
        """Return the session of tokens whose claims are verified."""
        if answer.id_token is None:
            raise provider_invalid("no id_token")
        signed = await self._verify(answer.id_token)
        if signed is None:
            raise provider_invalid("an id_token with another signature")
        problem = id_token_problem(signed.claims, self._rules, self._oidc.client_id, nonce)
        if problem is not None:
            raise provider_invalid(f"an id_token whose {problem} does not fit")
        claims = await self._with_userinfo(signed.claims, answer)
        session = self._session(claims, before)
        if answer.refresh_token is None:
            return SignedIn(session, None)
        return SignedIn(session, Renewal(subject=session.subject, token=answer.refresh_token))

    def _session(self, claims: Json, before: PersonSession | None) -> PersonSession:
        now = self._clock()
        provider_session = claims.get("sid")
        if not isinstance(provider_session, str):
            provider_session = "" if before is None else before.provider_session
        return PersonSession(
            subject=str(claims["sub"]),
            method="oidc",
            name=shortened_text(display_name(claims), 200),
            approver=approver_of(claims, self._oidc),
            groups=named_groups(self._access, groups_in(claims, self._oidc.groups_claim)),
            provider_session=provider_session,
            signed_in=now if before is None else before.signed_in,
            issued=now,
        )

    async def _with_userinfo(self, claims: Json, answer: TokenAnswer) -> Json:
        """Add what the id token lacks: many providers give groups and email there alone."""
        wanted = {self._oidc.groups_claim, self._oidc.approver_claim or "email"}
        if wanted <= claims.keys() or answer.access_token is None:
            return claims
        more: JsonValue = await self._provider.userinfo(answer.access_token)
        if not isinstance(more, dict) or more.get("sub") != claims["sub"]:
            return claims
        return {**more, **claims}

    async def _verify(self, token: str) -> SignedClaims | None:
        return signed_claims(token, await self._provider.keys(key_id_of(token)))


def _refused_by_provider(what: str) -> SignInFailure:
    return SignInFailure(
        "refused_by_provider",
        f"the sign-in provider refused {what}",
        "Begin again; if it is refused again, ask whoever runs the provider.",
    )


def _with_query(address: str, query: Mapping[str, str]) -> str:
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"
