"""MCP clients sign their person in at a real provider: that of the SDK, and ours for a run."""

import asyncio
import re
import sys
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from coterie.activities.mcp_client.browser_logins import LoginRequest, begin_login
from coterie.activities.mcp_client.pending_logins import LoginRefused, finish_login
from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.mcp_client.server_settings import McpServer
from coterie.dsl.model.sections.mcp_auth import LoginAuth
from coterie.dsl.model.sections.mcp_document import McpServerSection
from coterie.settings import load
from coterie.worker.sign_in_files import SignInFile
from tests.doors.conftest import CLIENT_SECRET, PATIENCE, Provider, server_stopped, started

CALLBACK = "http://127.0.0.1:1/callback"
CONFIGURATION = """\
access:
  public_url: {provider.gateway}
  oidc:
    issuer: {provider.issuer}
    client_id: coterie
    client_secret_env: CLIENT_SECRET
    scope_prefix: roles/
  grants:
    - {{ groups: [staff], roles: [viewer, starter] }}
    - {{ groups: [leads], roles: [viewer], teams: ["pay*"] }}
"""
MARK = """
description: Marks a word.
orchestration:
  entry_team: mark
  context: {word: {type: string}}
  output: {marked: "{{ context.word }}!"}
  teams: {mark: {tasks: [{name: one, type: set, values: {done: true}}]}}
"""


async def answer_to(name: str, address: str) -> dict[str, str]:
    """What the provider gives the browser of a person who signs in and agrees."""
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as http:
        page = await http.get(address)
        while not page.headers.get("location", "").startswith(CALLBACK):
            if "location" in page.headers:
                page = await http.get(str(page.url.join(page.headers["location"])))
                continue
            form = re.search(r'action="([^"]+)"', page.text)
            assert form is not None, page.text
            prompt = "login" if 'name="login"' in page.text else "consent"
            fields = {"prompt": prompt, "login": name, "password": "any"}
            page = await http.post(form[1], data=fields)
    return dict(parse_qsl(urlsplit(page.headers["location"]).query))


class Browser:
    """A person at a browser, who signs in and agrees; and what the client keeps."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._answer: asyncio.Future[AuthorizationCodeResult] = asyncio.Future()
        self.asked = ""
        self.tokens: OAuthToken | None = None
        self.information: OAuthClientInformationFull | None = None

    async def open(self, address: str) -> None:
        self.asked = address
        query = await answer_to(self._name, address)
        result = AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query["iss"])
        self._answer.set_result(result)

    async def answer(self) -> AuthorizationCodeResult:
        return await self._answer

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.information

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.information = client_info


@asynccontextmanager
async def client_of(origin: str, browser: Browser) -> AsyncGenerator[Client]:
    metadata = OAuthClientMetadata(
        client_name="desk",
        redirect_uris=[AnyUrl(CALLBACK)],
        token_endpoint_auth_method="none",
        application_type="native",
    )
    auth = OAuthClientProvider(f"{origin}/mcp", metadata, browser, browser.open, browser.answer)
    async with (
        httpx2.AsyncClient(auth=auth, trust_env=False, timeout=PATIENCE) as http,
        Client(streamable_http_client(f"{origin}/mcp", http_client=http)) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def desk(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Desk"]:
    """A project with a team, and its gateway."""
    tmp_path = tmp_path_factory.mktemp("desk")
    (tmp_path / "config/teams").mkdir(parents=True)
    (tmp_path / "config/teams/mark.yml").write_text(MARK)
    (tmp_path / "coterie.yml").write_text(CONFIGURATION.format(provider=provider))
    with server_stopped(tmp_path), ExitStack() as stack:
        made = Desk(stack, provider, tmp_path)
        made.serve()
        yield made


@dataclass
class Desk:
    """A gateway that dies with `stack`, as by `kill -9`."""

    stack: ExitStack
    provider: Provider
    folder: Path

    def serve(self) -> None:
        self.stack.enter_context(self._serving())

    def _serving(self) -> AbstractContextManager[object]:
        serve = [sys.executable, "-m", "coterie", "serve", "--no-browser", "--no-worker"]
        serve += ["--port", str(self.provider.gateway_port)]
        environment = {"CLIENT_SECRET": CLIENT_SECRET}
        return started(serve, "open +http", self.folder, killed=True, **environment)


def run(work: Coroutine[None, None, None]) -> None:
    """Run in a thread of its own: the loop of Playwright keeps that of the tests."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(asyncio.run, work).result()


def test_a_client_signs_its_person_in_and_survives_the_death_of_the_gateway(
    desk: Desk, provider: Provider
) -> None:
    run(sign_in_and_return(desk, provider))


async def sign_in_and_return(desk: Desk, provider: Provider) -> None:
    ann = Browser("ann")
    async with client_of(provider.gateway, ann) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names >= {"mark", "start", "result", "runs", "why", "cost", "validate", "test"}
        begun = await client.call_tool("start", {"team": "mark", "context": {"word": "so"}})
    assert "code_challenge_method=S256" in ann.asked
    asked = parse_qs(urlsplit(ann.asked).query)
    assert asked["resource"] == [f"{provider.gateway}/mcp"]
    assert "roles/viewer" in asked["scope"][0]
    started_run = cast("str", (begun.structured_content or {})["run"])

    desk.stack.close()
    desk.serve()
    async with client_of(provider.gateway, ann) as client:  # with the tokens that it has
        done = await client.call_tool("result", {"run": started_run})
        assert (done.structured_content or {})["result"] == {"marked": "so!"}
        why = await client.call_tool("why", {"run": started_run})
        assert (why.structured_content or {})["answer"]["visits"][0]["team"] == "mark"


def test_roles_come_from_groups_and_scopes_and_others_are_refused(
    desk: Desk, provider: Provider
) -> None:
    run(meet_refusals(provider))


async def meet_refusals(provider: Provider) -> None:
    async with client_of(provider.gateway, Browser("ben")) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert "mark" not in names, "he is a viewer of other teams"
        assert {"runs", "why", "validate"} <= names
        refused = await client.call_tool("start", {"team": "mark"})
        assert refused.is_error
        assert "no team" in refused.content[0].text  # type: ignore[union-attr]
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as http:
        nobody = await http.post(f"{provider.gateway}/mcp", json={})
        assert nobody.status_code == 401
        metadata = f"{provider.gateway}/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{metadata}"' in nobody.headers["www-authenticate"]
        assert (await http.get(metadata)).json()["authorization_servers"] == [provider.issuer]
        carl = Browser("carl")
        with pytest.raises(BaseExceptionGroup):
            async with client_of(provider.gateway, carl):
                raise AssertionError
        assert carl.tokens is not None
        token = {"Authorization": f"Bearer {carl.tokens.access_token}"}
        refused_carl = await http.post(f"{provider.gateway}/mcp", json={}, headers=token)
        assert refused_carl.status_code == 403
        assert 'error="insufficient_scope"' in refused_carl.headers["www-authenticate"]
        elsewhere = await http.get(f"{provider.gateway}/v1/runs", headers=token)
        assert elsewhere.status_code == 401, "the token is for /mcp alone"


def test_a_sign_in_for_a_waiting_run_ends_at_a_real_provider_and_is_renewed_there(
    desk: Desk, provider: Provider, tmp_path: Path
) -> None:
    assert desk.folder.exists()
    run(sign_in_for_a_run(provider, tmp_path))


async def sign_in_for_a_run(provider: Provider, folder: Path) -> None:
    section = McpServerSection.model_validate(
        {"url": f"{provider.gateway}/mcp", "auth": {"type": "login"}}
    )
    store = SignInFile(load({}, folder), "desk")
    server = McpServer("desk", section, folder, sign_ins=store)
    request = LoginRequest(CALLBACK, "oidc:ann", "run-1")
    begun = await begin_login(server, LoginAuth(type="login"), request)
    assert begun.pending.names_issuer, "this provider names itself in its answers"
    query = await answer_to("ann", begun.link)
    for wrong in ({"iss": "https://evil.example"}, {"state": "another"}):
        with pytest.raises(LoginRefused):
            await finish_login(begun.pending, {**query, **wrong})
    await finish_login(begun.pending, query)
    with pytest.raises(LoginRefused, match="invalid_grant"):
        await finish_login(begun.pending, query)
    again = await begin_login(server, LoginAuth(type="login"), request)
    signed_in = await finish_login(again.pending, await answer_to("ann", again.link))
    store.write(signed_in.model_copy(update={"expires": 0.0}))
    servers = McpServers({"desk": server}, dict)
    try:
        assert "mark" in {tool.name for tool in (await servers.list_tools("desk")).tools}
    finally:
        await servers.close()
    renewed = store.read()
    assert renewed is not None
    assert renewed.access_token != signed_in.access_token
