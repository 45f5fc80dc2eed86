"""A sign-in at an MCP server in two halves: what is refused of the servers and of the answers."""

from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
import pytest_asyncio

from coterie.activities.mcp_client.browser_logins import BegunLogin, LoginRequest, begin_login
from coterie.activities.mcp_client.pending_logins import LoginRefused, finish_login
from coterie.activities.mcp_client.server_settings import McpServer
from coterie.activities.mcp_client.sign_in_flow import SignInFailed
from coterie.activities.mcp_client.token_endpoint import TokenUnavailable
from coterie.activities.tool_functions.web.page_download import guard_connections
from coterie.activities.tool_functions.web.public_addresses import AddressRefused
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.model.sections.mcp_auth import LoginAuth
from coterie.dsl.model.sections.mcp_document import McpServerSection
from tests.support.servers.mcp_oauth import OAuthServer, oauth_server

REDIRECT = "https://desk.example.com/mcp-sign-in/notes/callback"
GUARD = partial(guard_connections, access=WebAccess(private_hosts=("127.0.0.1",)))


@pytest_asyncio.fixture
async def oauth() -> AsyncGenerator[OAuthServer]:
    async with oauth_server() as made:
        yield made


async def begun(oauth: OAuthServer, folder: Path) -> BegunLogin:
    section = McpServerSection.model_validate({"url": oauth.url, "auth": {"type": "login"}})
    request = LoginRequest(REDIRECT, "oidc:ann", "run-1")
    server = McpServer("notes", section, folder)
    return await begin_login(server, LoginAuth(type="login"), request, GUARD)


async def answered(begun: BegunLogin) -> dict[str, str]:
    """What the authorization server gives the browser of who agrees."""
    async with httpx2.AsyncClient(trust_env=False) as http:
        back = (await http.get(begun.link)).headers["location"]
    assert back.startswith(f"{REDIRECT}?")
    return dict(parse_qsl(urlsplit(back).query))


async def test_each_sign_in_has_a_state_and_a_proof_of_its_own(
    oauth: OAuthServer, tmp_path: Path
) -> None:
    one, two = await begun(oauth, tmp_path), await begun(oauth, tmp_path)
    assert one.pending.state != two.pending.state
    assert one.pending.verifier not in one.link + repr(one.pending)
    assert one.pending.state not in repr(one.pending)
    for login in (two, one):
        stored = await finish_login(login.pending, await answered(login), GUARD)
        assert stored.access_token in oauth.valid
        assert stored.refresh_token is not None


async def test_an_answer_counts_once_in_its_browser_and_in_its_time(
    oauth: OAuthServer, tmp_path: Path
) -> None:
    login, other = await begun(oauth, tmp_path), await begun(oauth, tmp_path)
    query = await answered(login)
    old = login.pending.model_copy(update={"expires": 0.0})
    for pending, given, why in (
        (None, query, "another browser"),
        (other.pending, query, "another browser"),
        (login.pending, {**query, "state": ""}, "another browser"),
        (login.pending, {"error": "access_denied"}, "another browser"),
        (old, query, "too old"),
        (login.pending, {"state": query["state"], "error": "access_denied"}, "access_denied"),
        (login.pending, {**query, "code": "x" * 5_000}, "refuses the sign-in"),
    ):
        with pytest.raises(LoginRefused, match=why):
            await finish_login(pending, given, GUARD)
    assert oauth.grants == []
    stolen = login.pending.model_copy(update={"verifier": other.pending.verifier})
    with pytest.raises(LoginRefused, match="refuses the code: invalid_grant"):
        await finish_login(stolen, query, GUARD)
    with pytest.raises(LoginRefused, match="refuses the code"):
        await finish_login(login.pending, query, GUARD)


@pytest.mark.parametrize("promises", [True, False])
async def test_an_answer_of_another_authorization_server_is_refused(
    oauth: OAuthServer, tmp_path: Path, promises: bool
) -> None:
    oauth.says_also = {"authorization_response_iss_parameter_supported": promises}
    login = await begun(oauth, tmp_path)
    oauth.issuer = "https://evil.example"
    with pytest.raises(LoginRefused, match="another authorization server"):
        await finish_login(login.pending, await answered(login), GUARD)
    oauth.issuer = None
    query = await answered(login)
    if promises:
        with pytest.raises(LoginRefused, match="another authorization server"):
            await finish_login(login.pending, query, GUARD)
    oauth.issuer = f"{oauth.origin}/"
    assert await finish_login(login.pending, await answered(login), GUARD)


@pytest.mark.parametrize(
    ("says", "why"),
    [
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE with S256"),
        ({"code_challenge_methods_supported": None}, "PKCE with S256"),
        ({"authorization_endpoint": "http://login.example.com/authorize"}, "no https address"),
        ({"authorization_endpoint": "https://ann:x@login.example.com/"}, "no https address"),
        ({"registration_endpoint": "http://login.example.com/register"}, "no https address"),
        ({"registration_endpoint": "https://10.0.0.7/register"}, "not public"),
        ({"registration_endpoint": "https://[fd00::1]/register"}, "not public"),
        ({"issuer": "https://evil.example/"}, "issuer mismatch"),
        ({"service_documentation": "https://a.example/" + "x" * 1_100_000}, "more than 1,000,000"),
    ],
)
async def test_what_a_server_says_leads_to_no_unsafe_address(
    oauth: OAuthServer, tmp_path: Path, says: dict[str, object], why: str
) -> None:
    oauth.says_also = says
    with pytest.raises(SignInFailed, match=why):
        await begun(oauth, tmp_path)


async def test_a_code_is_sent_to_no_address_that_the_worker_may_not_reach(
    oauth: OAuthServer, tmp_path: Path
) -> None:
    login = await begun(oauth, tmp_path)
    query = await answered(login)
    for endpoint, refused in (
        ("http://login.example.com/token", TokenUnavailable),
        ("https://10.0.0.7/token", AddressRefused),
    ):
        pending = login.pending.model_copy(update={"token_endpoint": endpoint})
        with pytest.raises(refused):
            await finish_login(pending, query, GUARD)
