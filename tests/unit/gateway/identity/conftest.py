"""A gateway whose people sign in at a provider, both in this process."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from coterie.dsl.model.sections.access_document import AccessSection, GrantSection, OidcSection
from coterie.gateway.identity.local_sign_in import LocalSignIn
from coterie.gateway.identity.oidc_provider import OidcProvider
from coterie.gateway.identity.program_tokens import TokenFile
from coterie.gateway.identity.provider_sign_in import ProviderSignIn
from coterie.gateway.identity.sealed_values import SealKeys
from coterie.gateway.identity.sign_in_gate import SignInGate
from coterie.gateway.identity.sign_in_routes import SignInLayer, authenticate, sign_in_routes
from tests.support.servers.oidc_provider import CLIENT, ISSUER, SECRET, Provider

PUBLIC = "https://coterie.example.com"
LOCAL = "http://coterie-7f3a.localhost:8080"
KEYS = SealKeys([bytes(32)])
OIDC = OidcSection(issuer=ISSUER, client_id=CLIENT, audience="https://coterie.example.com/v1")
ACCESS = AccessSection(
    public_url=PUBLIC,
    oidc=OIDC,
    grants=(
        GrantSection(roles=("viewer",), groups=("*",)),
        GrantSection(roles=("approver",), groups=("leads",), teams=("pay_*",)),
        GrantSection(roles=("starter",), subjects=("bot",)),
    ),
)


async def who(request: Request) -> Response:
    identity = await authenticate(request)
    address = request.client.host if request.client else ""
    if identity is None:
        return JSONResponse({"address": address}, 401)
    return JSONResponse({**identity.model_dump(mode="json"), "address": address})


@dataclass
class Gateway:
    """A gateway, its provider, and one browser."""

    gate: SignInGate
    provider: Provider
    browser: httpx2.AsyncClient

    async def sign_in(self, to: str = "/runs") -> httpx2.Response:
        self.browser.cookies.clear()
        begun = await self.browser.get("/sign-in", params={"to": to})
        assert begun.status_code == 303, begun.text
        query = self.provider.sign_in(begun.headers["location"])
        return await self.browser.get("/sign-in/callback", params=query)

    async def who(self) -> httpx2.Response:
        return await self.browser.get("/who")


def browser_of(gate: SignInGate, origin: str) -> httpx2.AsyncClient:
    routes = [*sign_in_routes(gate), Route("/who", who), Route("/act", who, methods=["POST"])]
    layer = SignInLayer(Starlette(routes=routes), gate)
    transport = httpx2.ASGITransport(layer, client=("203.0.113.7", 4711))
    return httpx2.AsyncClient(transport=transport, base_url=origin)


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    provider = Provider()
    clock = lambda: provider.now  # noqa: E731
    client = OidcProvider(OIDC, SECRET, clock=clock, transport=provider.transport)
    sign_in = ProviderSignIn(ACCESS, OIDC, client, PUBLIC, clock)
    tokens = TokenFile(tmp_path / "tokens.json")
    gate = SignInGate(ACCESS, KEYS, tokens, [PUBLIC], provider=sign_in, clock=clock)
    async with browser_of(gate, PUBLIC) as browser:
        yield Gateway(gate, provider, browser)
    await sign_in.close()


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Gateway]:
    provider = Provider()
    clock = lambda: provider.now  # noqa: E731
    origins = [LOCAL, "http://127.0.0.1:8080"]
    gate = SignInGate(
        AccessSection(),
        KEYS,
        TokenFile(tmp_path / "tokens.json"),
        origins,
        local=LocalSignIn("ann", clock),
        clock=clock,
    )
    async with browser_of(gate, LOCAL) as browser:
        yield Gateway(gate, provider, browser)
