"""Sign a person in at an MCP server: OAuth 2.1 with PKCE, by way of a browser on this machine."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from hmac import compare_digest
from typing import Final, NamedTuple, cast
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from coterie.activities.mcp_client.server_settings import McpServer
from coterie.activities.mcp_client.sign_ins import StoredSignIn
from coterie.activities.mcp_client.token_endpoint import Guard
from coterie.activities.proxies import trusted
from coterie.dsl.model.sections.mcp_auth import LoginAuth
from coterie.dsl.model.sections.safe_addresses import is_loopback, is_safe_url
from coterie.dsl.visible import one_line, shortened_text

CALLBACK: Final = "/callback"
SIGN_IN_SECONDS: Final = 600.0
_MAX_REQUEST: Final = 16_384
_MAX_ANSWER: Final = 1_000_000
"""Bytes of one answer of a server that nobody has signed in at."""
_DONE: Final = "You are signed in. Close this page, and return to the terminal."
_OTHER: Final = "This is not the answer to the sign-in that the terminal waits for."
_FAILED: Final = "The sign-in failed. The terminal says why."
_METHODS: Final = ("none", "client_secret_basic", "client_secret_post")


class SignInFailed(Exception):
    """Nobody was signed in; the message says why."""


class LoopbackCallback:
    """A page of this machine to which the authorization server sends the browser back."""

    def __init__(self, port: int) -> None:
        """Take the port; 0 for a free one."""
        self._port = port
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._server: asyncio.Server | None = None
        self._state: str | None = None

    def expect(self, link: str) -> None:
        """Take only the answer to the request of this link: any page can send a browser here."""
        self._state = parse_qs(urlsplit(link).query, max_num_fields=20).get("state", [None])[0]

    async def open(self) -> str:
        """Listen, and return the page's address.

        Raises:
            SignInFailed: The port is taken.
        """
        try:
            self._server = await asyncio.start_server(
                self._serve, "127.0.0.1", self._port, limit=_MAX_REQUEST
            )
        except OSError:
            raise SignInFailed(f"the port {self._port} is taken; choose another --port") from None
        port: int = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}{CALLBACK}"

    async def answer(self) -> AuthorizationCodeResult:
        """Wait for the browser.

        Raises:
            SignInFailed: The authorization server refuses, or nobody comes.
        """
        try:
            async with asyncio.timeout(SIGN_IN_SECONDS):
                query = await self._answer
        except TimeoutError:
            raise SignInFailed(f"nobody signed in within {SIGN_IN_SECONDS:g} s") from None
        if "code" not in query:
            why = shortened_text(one_line(query.get("error", "no code")), 200)
            raise SignInFailed(f"the authorization server refuses the sign-in: {why}")
        return AuthorizationCodeResult(
            code=query["code"], state=query.get("state"), iss=query.get("iss")
        )

    def _is_expected(self, query: dict[str, str]) -> bool:
        given = query.get("state", "").encode()
        return self._state is not None and compare_digest(given, self._state.encode())

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                line = await reader.readline()
            method, target, *_ = [*line.decode("latin-1").split(" "), "", ""]
            parts = urlsplit(target)
            query = {k: v[0] for k, v in parse_qs(parts.query, max_num_fields=20).items()}
            is_answer = method == "GET" and parts.path == CALLBACK and self._is_expected(query)
            if is_answer and not self._answer.done():
                self._answer.set_result(query)
            text = _OTHER if not is_answer else _DONE if "code" in query else _FAILED
            writer.write(
                f"HTTP/1.1 {'200 OK' if is_answer else '404 Not Found'}\r\n"
                "Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n"
                f"Connection: close\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()
            )
            await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass  # not the browser that we wait for
        finally:
            writer.close()


async def sign_in(
    server: McpServer, auth: LoginAuth, port: int, show: Callable[[str], Awaitable[None]]
) -> StoredSignIn:
    """Return the sign-in of a person.

    Args:
        server: Where.
        auth: Its configuration.
        port: Of the callback on this machine; 0 for a free one.
        show: Shows the person the address to open.

    Raises:
        SignInFailed: The server wants no sign-in, or nobody was signed in.
    """
    url = server.section.url
    assert url is not None
    callback = LoopbackCallback(port)
    kept = KeptBySdk(auth, await callback.open())
    metadata = OAuthClientMetadata(
        client_name="Coterie",
        redirect_uris=[AnyUrl(kept.redirect)],
        token_endpoint_auth_method="none",
        application_type="native",
        scope=" ".join(auth.scopes) or None,
    )

    async def ask(link: str) -> None:
        callback.expect(link)
        await show(link)

    provider = OAuthClientProvider(url, metadata, kept, ask, callback.answer)
    try:
        await connect(server, url, provider)
        return _sign_in_of(url, provider, kept)
    finally:
        await callback.close()


class KeptBySdk:
    """What the SDK wants to keep during the sign-in."""

    def __init__(self, auth: LoginAuth, redirect: str) -> None:
        self.redirect = redirect
        self.tokens: OAuthToken | None = None
        self.information: OAuthClientInformationFull | None = None
        if auth.client_id is not None:
            self.information = OAuthClientInformationFull(
                client_id=auth.client_id,
                redirect_uris=[AnyUrl(redirect)],
                token_endpoint_auth_method="none",
            )

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep the tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client."""
        return self.information

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the client."""
        self.information = client_info


class _BoundedBody(httpx2.AsyncByteStream):
    """An answer that ends before it is too large."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > _MAX_ANSWER:
                raise httpx2.ReadError(f"an answer has more than {_MAX_ANSWER:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class _SafeTransport(httpx2.AsyncHTTPTransport):
    """Refuses addresses to which nothing may be sent: the server's documents name them."""

    def __init__(self, url: str) -> None:
        super().__init__(trusted(environment=False))
        self._loopback = is_loopback(urlsplit(url).hostname or "")

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if not is_safe_url(str(request.url), loopback=self._loopback):
            raise httpx2.UnsupportedProtocol(f"{request.url.host} has no https address")
        request.headers["Accept-Encoding"] = "identity"  # so that the bound counts every byte
        answer = await super().handle_async_request(request)
        if isinstance(answer.stream, httpx2.AsyncByteStream):
            answer.stream = _BoundedBody(answer.stream)
        return answer


async def connect(
    server: McpServer, url: str, provider: OAuthClientProvider, guard: Guard | None = None
) -> None:
    """Connect, which makes the server ask for the sign-in.

    Raises:
        SignInFailed: It cannot be used, or the sign-in failed.
    """
    logging.getLogger("mcp.client.auth.oauth2").disabled = True  # it logs what we report
    transport = _SafeTransport(url)
    if guard is not None:
        guard(transport)
    try:
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(
                httpx2.AsyncClient(
                    auth=provider,
                    headers=server.headers,
                    transport=transport,
                    timeout=httpx2.Timeout(server.section.start_timeout, read=None),
                    trust_env=False,
                )
            )
            await stack.enter_async_context(Client(streamable_http_client(url, http_client=http)))
    except BaseException as error:
        plain = _first_cause(error)
        if isinstance(plain, SignInFailed):
            raise plain from None
        if isinstance(plain, Exception):
            why = shortened_text(one_line(str(plain)) or type(plain).__name__, 500)
            raise SignInFailed(f"the MCP server {server.name!r} cannot be used: {why}") from None
        raise


def _first_cause(error: BaseException) -> BaseException:
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return _first_cause(group.exceptions[0])
    return error


class TokenFacts(NamedTuple):
    """Where the tokens of a server come from, and for whom."""

    issuer: str
    names_issuer: bool
    token_endpoint: str
    client_id: str
    client_secret: str | None
    in_body: bool
    resource: str | None


def token_facts(provider: OAuthClientProvider, kept: KeptBySdk) -> TokenFacts:
    """Return what a sign-in has found out.

    Raises:
        SignInFailed: It lacks something.
    """
    context, client = provider.context, kept.information
    if client is None:
        raise SignInFailed("the server asks for no sign-in: remove its `auth`")
    metadata = context.oauth_metadata
    if metadata is None:
        raise SignInFailed("the server does not say where tokens are renewed (RFC 8414)")
    method = client.token_endpoint_auth_method or "none"
    if method not in _METHODS:
        raise SignInFailed(f"the authorization server wants the unsupported method {method!r}")
    has_resource = context.should_include_resource_param(context.protocol_version)
    return TokenFacts(
        issuer=str(metadata.issuer),
        names_issuer=bool(metadata.authorization_response_iss_parameter_supported),
        token_endpoint=str(metadata.token_endpoint),
        client_id=client.client_id,
        client_secret=client.client_secret if method != "none" else None,
        in_body=method == "client_secret_post",
        resource=context.get_resource_url() if has_resource else None,
    )


def _sign_in_of(url: str, provider: OAuthClientProvider, kept: KeptBySdk) -> StoredSignIn:
    facts, tokens = token_facts(provider, kept), kept.tokens
    if tokens is None:
        raise SignInFailed("the server asks for no sign-in: remove its `auth`")
    return StoredSignIn(
        url=url,
        token_endpoint=facts.token_endpoint,
        client_id=facts.client_id,
        client_secret=facts.client_secret,
        in_body=facts.in_body,
        resource=facts.resource,
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token,
        expires=None if tokens.expires_in is None else time.time() + tokens.expires_in,
    )
