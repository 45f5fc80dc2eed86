"""The first half of a person's sign-in at an MCP server: the link to its authorization server.

The SDK finds the authorization server, checks its documents and registers a client. It would then
wait for the person; here the sign-in stops instead, and the server of the redirect ends it with
`pending_logins`: minutes later, perhaps in another process.
"""

import asyncio
import base64
import secrets
import time
from hashlib import sha256
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata
from pydantic import AnyUrl, ValidationError

from coterie.activities.mcp_client.pending_logins import PendingLogin
from coterie.activities.mcp_client.server_settings import McpServer
from coterie.activities.mcp_client.sign_in_flow import (
    KeptBySdk,
    SignInFailed,
    connect,
    token_facts,
)
from coterie.activities.mcp_client.token_endpoint import Guard
from coterie.dsl.model.sections.mcp_auth import LoginAuth
from coterie.dsl.model.sections.safe_addresses import is_loopback, is_safe_url

LOGIN_SECONDS: Final = 600.0
"""From the link to the answer of the person."""
_DISCOVERY_SECONDS: Final = 30.0
_MAX_LINK: Final = 4_000


class LoginRequest(NamedTuple):
    """Who signs in, for what."""

    redirect: str
    """Where the browser comes back."""
    person: str
    run: str


class BegunLogin(NamedTuple):
    """A sign-in that continues at the authorization server."""

    link: str
    pending: PendingLogin


async def begin_login(
    server: McpServer, auth: LoginAuth, request: LoginRequest, guard: Guard | None = None
) -> BegunLogin:
    """Return where the person signs in, and what its end must know.

    Args:
        server: Where.
        auth: Its configuration.
        request: Who signs in.
        guard: Of the connections to the addresses that the server names.

    Raises:
        SignInFailed: The server wants no sign-in, or cannot be used.
    """
    url = server.section.url
    assert url is not None
    kept = KeptBySdk(auth, request.redirect)
    metadata = OAuthClientMetadata(
        client_name="Coterie",
        redirect_uris=[AnyUrl(request.redirect)],
        token_endpoint_auth_method="none",
        application_type="web" if request.redirect.startswith("https:") else "native",
        scope=" ".join(auth.scopes) or None,
    )
    links: list[str] = []

    async def stop(link: str) -> None:
        links.append(link)
        raise SignInFailed("a person continues this sign-in")

    provider = OAuthClientProvider(url, metadata, kept, stop, _never)
    try:
        async with asyncio.timeout(_DISCOVERY_SECONDS):
            await connect(server, url, provider, guard)
    except TimeoutError:
        raise SignInFailed(
            f"{server.name} did not answer within {_DISCOVERY_SECONDS:g} s"
        ) from None
    except SignInFailed:
        if not links:
            raise
    if not links:
        raise SignInFailed(f"{server.name} asks for no sign-in: remove its `auth`")
    return _begin_at(server, url, links[0], provider, kept, request)


async def _never() -> AuthorizationCodeResult:
    raise AssertionError("the sign-in stops before it")


def _begin_at(
    server: McpServer,
    url: str,
    link: str,
    provider: OAuthClientProvider,
    kept: KeptBySdk,
    request: LoginRequest,
) -> BegunLogin:
    """Return the sign-in with a state and a proof of our own, which outlive this process."""
    facts, state, verifier = token_facts(provider, kept), secrets.token_urlsafe(32), _verifier()
    metadata = provider.context.oauth_metadata
    if metadata is None or "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise SignInFailed("the authorization server does not offer PKCE with S256")
    challenge = base64.urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")
    own = {"state": state, "code_challenge": challenge, "code_challenge_method": "S256"}
    parts = urlsplit(link)
    query = {**dict(parse_qsl(parts.query, keep_blank_values=True)), **own}
    link = urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(query), ""))
    local = is_loopback(urlsplit(url).hostname or "")
    if len(link) > _MAX_LINK or not is_safe_url(link, loopback=local):
        raise SignInFailed("the authorization server has no https address to sign in")
    try:
        pending = PendingLogin(
            server=server.name,
            url=url,
            state=state,
            verifier=verifier,
            redirect=request.redirect,
            person=request.person,
            run=request.run,
            expires=time.time() + LOGIN_SECONDS,
            **facts._asdict(),
        )
    except ValidationError:
        raise SignInFailed("the authorization server names no usable addresses") from None
    return BegunLogin(link, pending)


def _verifier() -> str:
    return secrets.token_urlsafe(64)
