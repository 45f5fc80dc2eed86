"""MCP servers that want OAuth: a person signs in once, workers renew, fleets prove themselves."""

import asyncio
import json
import stat
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import pytest_asyncio

from coterie.activities.mcp_client.call_outcomes import SignInNeeded
from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.mcp_client.server_settings import McpServer
from coterie.activities.mcp_client.sign_in_flow import SignInFailed, sign_in
from coterie.activities.mcp_client.sign_ins import StoredSignIn
from coterie.dsl.model.sections.mcp_auth import LoginAuth
from coterie.dsl.model.sections.mcp_document import McpServerSection
from coterie.dsl.model.tools.asked_input import GivenInput
from coterie.dsl.values import Json
from coterie.settings import load
from coterie.worker.sign_in_files import SignInFile
from tests.support.servers.mcp_oauth import CLIENT, PRIVATE_KEY, SECRET, OAuthServer, oauth_server
from tests.support.servers.mcp_tools import asked_by, call_tool, digests, failure_of, listing_of

LOGIN: Json = {"type": "login"}


@pytest_asyncio.fixture
async def oauth() -> AsyncGenerator[OAuthServer]:
    async with oauth_server() as made:
        yield made


def known(oauth: OAuthServer, folder: Path, auth: Json, **secrets: str) -> McpServer:
    section = McpServerSection.model_validate(
        {"url": oauth.url, "auth": auth, "tools": {"*": {"effect": "once"}}}
    )
    store = SignInFile(load({}, folder), "notes")
    return McpServer("notes", section, folder, values=secrets, sign_ins=store)


@asynccontextmanager
async def worker(server: McpServer) -> AsyncGenerator[McpServers]:
    made = McpServers({"notes": server}, dict)
    try:
        yield made
    finally:
        await made.close()


async def browse(link: str) -> None:
    """A person whose browser follows the link to its end."""
    async with httpx2.AsyncClient(trust_env=False, follow_redirects=True) as http:
        page = await http.get(link)
    assert "You are signed in" in page.text, page.text


async def signed_in(server: McpServer) -> StoredSignIn:
    auth = server.section.auth
    assert isinstance(auth, LoginAuth)
    assert server.sign_ins is not None
    made = await sign_in(server, auth, 0, browse)
    server.sign_ins.write(made)
    return made


async def test_a_person_signs_in_by_pkce_and_registration_and_calls_have_their_token(
    oauth: OAuthServer, tmp_path: Path
) -> None:
    server = known(oauth, tmp_path, LOGIN)
    made = await signed_in(server)
    assert (oauth.grants, len(oauth.registered)) == (["authorization_code"], 1)
    file = tmp_path / ".coterie/mcp/notes.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert made.access_token not in repr(made)
    async with worker(server) as servers:
        tools = digests(await listing_of(servers, "notes"))
        assert await call_tool(servers, "notes/add", tools["add"], {"a": 1}) == {
            "result": "added 1"
        }
    assert oauth.grants == ["authorization_code"]


async def test_a_request_of_another_page_is_not_the_answer_to_a_sign_in(
    oauth: OAuthServer, tmp_path: Path
) -> None:
    server = known(oauth, tmp_path, LOGIN)

    async def browse_among_strangers(link: str) -> None:
        query = parse_qs(urlsplit(link).query)
        (callback,), (state,) = query["redirect_uri"], query["state"]
        async with httpx2.AsyncClient(trust_env=False) as http:
            for stray in ("", "?code=stolen", "?error=no", f"?code=stolen&state={state}x"):
                page = await http.get(f"{callback}{stray}")
                assert (page.status_code, "signed in" in page.text) == (404, False)
        await browse(link)

    auth = server.section.auth
    assert isinstance(auth, LoginAuth)
    assert (await sign_in(server, auth, 0, browse_among_strangers)).access_token in oauth.valid


async def test_a_call_without_a_sign_in_asks_a_person_and_is_made_once_after_it(
    oauth: OAuthServer, tmp_path: Path
) -> None:
    server = known(oauth, tmp_path, LOGIN)
    async with worker(server) as servers:
        with pytest.raises(SignInNeeded, match="coterie mcp login notes"):
            await servers.list_tools("notes")
        error = await failure_of(servers, "notes/add", "", {"a": 2})
        asked = asked_by(error)
        (question,) = asked.questions.values()
        assert "run `coterie mcp login notes`" in question.message
        assert (error.non_retryable, oauth.calls) == (True, [])
        given = GivenInput(asked=asked, answers={key: {} for key in asked.questions}, by="ann")
        again = await failure_of(servers, "notes/add", "", {"a": 2}, given)
        assert asked_by(again) == asked, "approved without a sign-in: asked again"

        await signed_in(server)
        digest = digests(await listing_of(servers, "notes"))["add"]
        assert await call_tool(servers, "notes/add", digest, {"a": 2}, given=given) == {
            "result": "added 2"
        }
    assert oauth.calls == ["add 2"]


async def test_workers_that_find_an_old_token_renew_it_once_together(
    oauth: OAuthServer, tmp_path: Path
) -> None:
    server = known(oauth, tmp_path, LOGIN)
    made = await signed_in(server)
    assert server.sign_ins is not None
    server.sign_ins.write(made.model_copy(update={"expires": time.time() - 1}))
    oauth.valid.clear()
    async with (
        worker(known(oauth, tmp_path, LOGIN)) as one,
        worker(known(oauth, tmp_path, LOGIN)) as two,
    ):
        await asyncio.gather(*(servers.list_tools("notes") for servers in (one, two)))
        assert oauth.grants == ["authorization_code", "refresh_token"]
        oauth.valid.clear()  # the server withdraws it before its end
        digest = digests(await listing_of(one, "notes"))["add"]
        assert oauth.grants[2:] == ["refresh_token"]
        assert await call_tool(two, "notes/add", digest, {"a": 3}) == {"result": "added 3"}
        assert oauth.grants[2:] == ["refresh_token"], "the other one uses what this one got"
        oauth.valid.clear()
        oauth.refuses_renewal = True
        assert asked_by(await failure_of(one, "notes/add", digest, {"a": 4}))
    assert oauth.calls == ["add 3"]


async def test_an_authorization_server_that_is_away_is_no_question_to_a_person(
    oauth: OAuthServer, tmp_path: Path
) -> None:
    server = known(oauth, tmp_path, LOGIN)
    made = await signed_in(server)
    assert server.sign_ins is not None
    server.sign_ins.write(made.model_copy(update={"expires": 0.0}))
    oauth.is_away = True
    async with worker(server) as servers:
        error = await failure_of(servers, "notes/add", "", {"a": 5})
    assert (error.type, error.non_retryable) == ("FunctionFailed", False)
    assert made.refresh_token is not None
    assert made.refresh_token not in str(error)


async def test_a_sign_in_is_for_its_address_alone(oauth: OAuthServer, tmp_path: Path) -> None:
    server = known(oauth, tmp_path, LOGIN)
    made = await signed_in(server)
    assert server.sign_ins is not None
    server.sign_ins.write(made.model_copy(update={"url": "https://elsewhere.example/mcp"}))
    async with worker(server) as servers:
        with pytest.raises(SignInNeeded):
            await servers.list_tools("notes")


@pytest.mark.parametrize("kind", ["client_credentials", "private_key"])
async def test_a_fleet_proves_itself_and_gets_a_new_token_when_the_last_is_refused(
    oauth: OAuthServer, tmp_path: Path, kind: str
) -> None:
    proof: Json = {"secret_env": "PROOF"}
    if kind == "private_key":
        proof = {"key_env": "PROOF", "algorithm": "ES256"}
    token_url = f"{oauth.origin}/token"
    auth: Json = {"type": kind, "token_url": token_url, "client_id": CLIENT, **proof}
    right = {"client_credentials": SECRET, "private_key": PRIVATE_KEY}[kind]
    async with worker(known(oauth, tmp_path, auth, PROOF=right)) as servers:
        digest = digests(await listing_of(servers, "notes"))["add"]
        oauth.valid.clear()
        assert await call_tool(servers, "notes/add", digest, {"a": 6}) == {"result": "added 6"}
        assert oauth.grants == ["client_credentials"] * 2
    async with worker(known(oauth, tmp_path, auth, PROOF="another")) as servers:
        error = await failure_of(servers, "notes/add", digest, {"a": 7})
    assert error.type == "FunctionFailed"
    assert "another" not in str(error)
    assert oauth.calls == ["add 6"]


async def test_a_person_who_does_not_agree_is_not_signed_in(
    oauth: OAuthServer, tmp_path: Path
) -> None:
    async def decline(link: str) -> None:
        asked = httpx2.URL(link).params
        refusal = {"error": "access_denied", "state": asked["state"]}
        async with httpx2.AsyncClient(trust_env=False) as http:
            await http.get(asked["redirect_uri"], params=refusal)

    with pytest.raises(SignInFailed, match="refuses the sign-in: access_denied"):
        await sign_in(known(oauth, tmp_path, LOGIN), LoginAuth(type="login"), 0, decline)
    assert not (tmp_path / ".coterie/mcp").exists()


async def test_a_sign_in_of_a_registered_client_registers_none(
    oauth: OAuthServer, tmp_path: Path
) -> None:
    server = known(oauth, tmp_path, {**LOGIN, "client_id": "ours", "scopes": ["notes"]})
    assert (await signed_in(server)).client_id == "ours"
    assert oauth.registered == []
    stored = json.loads((tmp_path / ".coterie/mcp/notes.json").read_text())
    assert stored["token_endpoint"] == f"{oauth.origin}/token"
