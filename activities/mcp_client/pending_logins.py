"""The second half of a person's sign-in at an MCP server: what the browser brings back.

Between both halves, the browser keeps a sealed `PendingLogin`: nobody else does.
"""

import hmac
import time
from collections.abc import Mapping
from typing import Final

from pydantic import Field

from coterie.activities.mcp_client.sign_ins import StoredSignIn
from coterie.activities.mcp_client.token_endpoint import (
    GrantRefused,
    Guard,
    TokenGrant,
    request_tokens,
)
from coterie.dsl.values import Frozen
from coterie.dsl.visible import one_line, shortened_text

_MAX_CODE: Final = 4_000


class LoginRefused(Exception):
    """Nobody was signed in; the message says why, and shows no secret."""


class PendingLogin(Frozen):
    """A sign-in that has begun at the authorization server of an MCP server."""

    server: str
    """Its name."""
    url: str
    """Its address, to which alone the tokens are sent."""
    state: str = Field(repr=False)
    verifier: str = Field(repr=False)
    """Of PKCE."""
    issuer: str
    names_issuer: bool = False
    """Whether the authorization server promises to name itself in its answer (RFC 9207)."""
    token_endpoint: str
    client_id: str
    client_secret: str | None = Field(default=None, repr=False)
    in_body: bool = False
    """Whether the client's secret is a field of the form."""
    resource: str | None = None
    redirect: str
    """Where the browser comes back."""
    person: str
    """Who began it; nobody else may end it."""
    run: str
    """The run that waits for it."""
    expires: float
    """Seconds since the epoch."""


async def finish_login(
    pending: PendingLogin | None, query: Mapping[str, str], guard: Guard | None = None
) -> StoredSignIn:
    """Return the sign-in for the answer of the authorization server.

    The state is compared before anything else is read.

    Args:
        pending: As it began in this browser; None: it did not.
        query: Of the address to which the browser came back.
        guard: Of the connection to the token endpoint.

    Raises:
        LoginRefused: The answer belongs to no sign-in of this browser, or is a refusal.
        TokenUnavailable: The authorization server does not answer as it must.
    """
    state = query.get("state", "")
    if pending is None or not hmac.compare_digest(state.encode(), pending.state.encode()):
        raise LoginRefused("this sign-in began in another browser, or is used up")
    if time.time() >= pending.expires:
        raise LoginRefused("this sign-in is too old")
    issuer = query.get("iss")
    if issuer != pending.issuer and (issuer is not None or pending.names_issuer):
        raise LoginRefused("the answer comes from another authorization server")
    code = query.get("code", "")
    if not 0 < len(code) <= _MAX_CODE:
        why = shortened_text(one_line(query.get("error", "no code")), 200)
        raise LoginRefused(f"the authorization server refuses the sign-in: {why}")
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": pending.redirect,
        "code_verifier": pending.verifier,
    }
    if pending.resource is not None:
        form["resource"] = pending.resource
    grant = TokenGrant(
        pending.token_endpoint, pending.client_id, form, pending.client_secret, pending.in_body
    )
    try:
        tokens = await request_tokens(grant, guard)
    except GrantRefused as refusal:
        raise LoginRefused(f"the authorization server refuses the code: {refusal}") from None
    return StoredSignIn(
        url=pending.url,
        token_endpoint=pending.token_endpoint,
        client_id=pending.client_id,
        client_secret=pending.client_secret,
        in_body=pending.in_body,
        resource=pending.resource,
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token,
        expires=tokens.expires(time.time()),
    )
