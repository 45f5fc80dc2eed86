"""Sign-ins of people at MCP servers, renewed by one process at a time."""

import time
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from pydantic import Field

from coterie.activities.mcp_client.token_endpoint import (
    GrantRefused,
    TokenGrant,
    request_tokens,
)
from coterie.dsl.values import Frozen

_EARLY_SECONDS = 30.0
"""Before its end, a token is renewed: a call takes time, and clocks differ."""


class StoredSignIn(Frozen):
    """A sign-in of a person, as `coterie mcp login` stores it."""

    url: str
    """The address of the server that it is for; another one gets no token of it."""
    token_endpoint: str
    client_id: str
    client_secret: str | None = Field(default=None, repr=False)
    in_body: bool = False
    """Whether the client's secret is a field of the form."""
    resource: str | None = None
    access_token: str = Field(repr=False)
    refresh_token: str | None = Field(default=None, repr=False)
    expires: float | None = None
    """When the access token ends, in seconds since the epoch; None if nobody said."""

    def usable(self, now: float, refused: str | None) -> bool:
        """Return whether its access token may still be accepted."""
        is_over = self.expires is not None and now >= self.expires - _EARLY_SECONDS
        return self.access_token != refused and not is_over


class SignInStore(Protocol):
    """Keeps the sign-in at one server."""

    def read(self) -> StoredSignIn | None:
        """Return it; None if there is none; blocking."""
        ...

    def write(self, signed_in: StoredSignIn) -> None:
        """Replace it; blocking.

        Raises:
            TokenUnavailable: It cannot be stored.
        """
        ...

    def page(self) -> str | None:
        """Return the address at which a person signs in by a browser; None if no gateway serves."""
        ...

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Let one process at a time renew it; raises TokenUnavailable if another does not end."""
        ...


class LoginTokens:
    """The access tokens of a stored sign-in."""

    def __init__(self, store: SignInStore, url: str) -> None:
        """Take where the sign-in is stored, and for which server."""
        self._store = store
        self._url = url

    async def token(self, refused: str | None) -> str | None:
        """Return a token that may be accepted; None if a person must sign in.

        Of several processes, one renews, and the others use what it got: a refresh token works
        once.

        Args:
            refused: One that the server has refused.

        Raises:
            TokenUnavailable: The authorization server does not answer.
        """
        signed_in = self._read()
        if signed_in is None or signed_in.usable(time.time(), refused):
            return signed_in and signed_in.access_token
        async with self._store.lock():
            signed_in = self._read()
            if signed_in is None or signed_in.usable(time.time(), refused):
                return signed_in and signed_in.access_token
            return await self._renew(signed_in)

    def _read(self) -> StoredSignIn | None:
        signed_in = self._store.read()
        return signed_in if signed_in is not None and signed_in.url == self._url else None

    async def _renew(self, signed_in: StoredSignIn) -> str | None:
        if signed_in.refresh_token is None:
            return None
        grant = TokenGrant(
            endpoint=signed_in.token_endpoint,
            client_id=signed_in.client_id,
            secret=signed_in.client_secret,
            in_body=signed_in.in_body,
            form={
                "grant_type": "refresh_token",
                "refresh_token": signed_in.refresh_token,
                **({} if signed_in.resource is None else {"resource": signed_in.resource}),
            },
        )
        try:
            tokens = await request_tokens(grant)
        except GrantRefused:
            return None
        renewed = signed_in.model_copy(
            update={
                "access_token": tokens.access_token,
                "refresh_token": tokens.refresh_token or signed_in.refresh_token,
                "expires": tokens.expires(time.time()),
            }
        )
        self._store.write(renewed)
        return renewed.access_token
