"""Add access tokens to the requests of an MCP server, and notice that somebody must sign in."""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator
from typing import Protocol, assert_never

import httpx2
import jwt

from coterie.activities.mcp_client.server_settings import McpServer
from coterie.activities.mcp_client.sign_ins import LoginTokens
from coterie.activities.mcp_client.token_endpoint import (
    GrantRefused,
    TokenGrant,
    TokenUnavailable,
    request_tokens,
)
from coterie.activities.mcp_client.transport.call_progress import CURRENT_CALL
from coterie.dsl.model.sections.mcp_auth import ClientCredentialsAuth, LoginAuth, PrivateKeyAuth

_EARLY_SECONDS = 30.0
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_UNAUTHORIZED = 401


class AccessTokens(Protocol):
    """Where the access tokens of a server come from."""

    async def token(self, refused: str | None) -> str | None:
        """Return one that may be accepted; None if there is none.

        Args:
            refused: One that the server has refused.

        Raises:
            TokenUnavailable: The authorization server does not answer, or refuses.
        """
        ...


class ClientTokens:
    """The access tokens of a worker that is a client itself."""

    def __init__(
        self, auth: ClientCredentialsAuth | PrivateKeyAuth, secret: str, resource: str
    ) -> None:
        """Take the configuration, the secret or the private key, and the server's address."""
        self._auth = auth
        self._secret = secret
        self._resource = resource
        self._lock = asyncio.Lock()
        self._token: str | None = None
        self._expires: float | None = None

    async def token(self, refused: str | None) -> str | None:
        """Return a token, a new one where the last has ended or is refused."""
        async with self._lock:
            is_over = self._expires is not None and time.time() >= self._expires - _EARLY_SECONDS
            if self._token is None or is_over or self._token == refused:
                try:
                    tokens = await request_tokens(self._grant())
                except GrantRefused as refusal:
                    raise TokenUnavailable(
                        f"the authorization server refuses the client {self._auth.client_id!r} "
                        f"({refusal})"
                    ) from None
                self._token, self._expires = tokens.access_token, tokens.expires(time.time())
            return self._token

    def _grant(self) -> TokenGrant:
        form = {"grant_type": "client_credentials", "resource": self._resource}
        if self._auth.scopes:
            form["scope"] = " ".join(self._auth.scopes)
        match self._auth:
            case ClientCredentialsAuth():
                return TokenGrant(self._auth.token_url, self._auth.client_id, form, self._secret)
            case PrivateKeyAuth():
                form |= {"client_assertion": self._assertion(self._auth)}
                form |= {"client_assertion_type": _ASSERTION}
                return TokenGrant(self._auth.token_url, self._auth.client_id, form)
            case _:
                assert_never(self._auth)

    def _assertion(self, auth: PrivateKeyAuth) -> str:
        now = int(time.time())
        claims = {
            "iss": auth.client_id,
            "sub": auth.client_id,
            "aud": auth.audience or auth.token_url,
            "iat": now,
            "exp": now + 120,
            "jti": secrets.token_urlsafe(16),
        }
        try:
            return jwt.encode(claims, self._secret, algorithm=auth.algorithm)
        except (jwt.PyJWTError, ValueError, TypeError):
            raise TokenUnavailable(
                f"the environment variable {auth.key_env} has no private key for {auth.algorithm}"
            ) from None


class ServerAuth(httpx2.Auth):
    """Authenticates the requests of one connection."""

    def __init__(self, tokens: AccessTokens) -> None:
        """Take where the tokens come from."""
        self._tokens = tokens
        self.is_refused = False
        """Whether the server has refused the last request, and no other token is there."""

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with a token; once more with another one, if it is refused."""
        token = await self._token(None)
        response = yield _with_token(request, token)
        if response.status_code == _UNAUTHORIZED:
            newer = await self._token(token)
            if newer is not None and newer != token:
                call = CURRENT_CALL.get()
                if call is not None:
                    call.note_repeated()
                response = yield _with_token(request, newer)
        self.is_refused = response.status_code == _UNAUTHORIZED

    async def _token(self, refused: str | None) -> str | None:
        try:
            return await self._tokens.token(refused)
        except TokenUnavailable as error:
            call = CURRENT_CALL.get()
            if call is not None:
                call.note_unconnected()
            raise httpx2.ConnectError(str(error)) from None


def server_auth(server: McpServer) -> ServerAuth | None:
    """Return what authenticates the requests of a server; None if its headers do."""
    section = server.section
    match section.auth:
        case None:
            return None
        case LoginAuth():
            assert section.url is not None
            assert server.sign_ins is not None
            return ServerAuth(LoginTokens(server.sign_ins, section.url))
        case ClientCredentialsAuth(secret_env=name) | PrivateKeyAuth(key_env=name):
            assert section.url is not None
            return ServerAuth(ClientTokens(section.auth, server.values[name], section.url))
        case _:
            assert_never(section.auth)


def _with_token(request: httpx2.Request, token: str | None) -> httpx2.Request:
    if token is not None:
        request.headers["Authorization"] = f"Bearer {token}"
    return request
