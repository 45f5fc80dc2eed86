"""A run waits for a sign-in at an MCP server; its link leads to the gateway, and it goes on."""

import re
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import yaml
from temporalio.testing import WorkflowEnvironment

from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.mcp_client.server_settings import McpServer
from coterie.activities.mcp_client.sign_ins import StoredSignIn
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.sections.mcp_document import McpServerSection
from coterie.gateway.app import application
from coterie.gateway.console.console_routes import console_routes
from coterie.gateway.console.server_sign_ins.server_sign_in_routes import server_sign_in_routes
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.sign_in import SignIn, sign_in_of
from coterie.server.connection import Connection
from coterie.settings import Settings, load
from coterie.worker.sign_in_files import SignInFile
from tests.support.engine import CAPABILITIES, Engine, engine
from tests.support.gateway import by_header, client_of, person
from tests.support.runs import asked, decide, scheduled
from tests.support.servers.mcp_oauth import OAuthServer, oauth_server
from tests.support.servers.mcp_tools import listing_of
from tests.workflow.tool_loops.test_mcp_calls import plan_with, replay

PORT = 7411
TEAM = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks: [{ name: go, type: tool, tool: t, arguments: { a: 1 } }]
tools: { t: { mcp: demo/add%s } }
"""
QUESTION = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks: [{ name: go, type: approval, prompt: "Go?" }]
"""


@dataclass
class Browser:
    """A browser of one person: it keeps cookies by host, and sends them as browsers do."""

    app: Any
    cookies: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    async def get(self, url: str, **headers: str) -> httpx2.Response:
        return await self._send("GET", url, headers)

    async def post(self, url: str, **form: str) -> httpx2.Response:
        return await self._send("POST", url, {"Sec-Fetch-Site": "same-origin"}, form)

    async def _send(
        self, method: str, url: str, headers: dict[str, str], form: dict[str, str] | None = None
    ) -> httpx2.Response:
        host = urlsplit(url).netloc
        held = self.cookies.setdefault(host, {})
        cookie = "; ".join(f"{name}={value}" for name, value in held.items())
        transport = httpx2.ASGITransport(app=self.app)
        async with httpx2.AsyncClient(transport=transport, timeout=60) as http:
            answer = await http.request(
                method, url, data=form, headers={"Accept": "text/html", "Cookie": cookie, **headers}
            )
        for text in answer.headers.get_list("set-cookie"):
            name, _, rest = text.partition("=")
            value = rest.partition(";")[0]
            held.pop(name, None)
            if value:
                held[name] = value
        return answer


async def at_server(link: str) -> str:
    """The person agrees; where the authorization server sends the browser."""
    async with httpx2.AsyncClient(trust_env=False) as http:
        answer = await http.get(link)
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


@dataclass
class Desk:
    """A run that waits for a sign-in, and a gateway of its project."""

    oauth: OAuthServer
    running: Engine
    settings: Settings
    plan: Plan
    access: RunAccess
    sign_in: SignIn
    routes: tuple[Any, ...]

    @property
    def origin(self) -> str:
        return self.sign_in.gate.origins[0]

    async def browser(self) -> Browser:
        """A browser in which the local user is signed in."""
        app = application(
            self.access, self.sign_in.authenticate, (*self.sign_in.routes, *self.routes)
        )
        made = Browser(self.sign_in.around(app))
        code = self.sign_in.link().partition("#")[2]
        answer = await made.post(f"{self.origin}/sign-in/code", code=code)
        assert answer.status_code == 303, answer.text
        return made

    def as_person(self, identity: Identity) -> httpx2.AsyncClient:
        return client_of(application(self.access, by_header, self.routes), identity)


@asynccontextmanager
async def desk(env: WorkflowEnvironment, folder: Path, more: str = "") -> AsyncGenerator[Desk]:
    async with oauth_server() as oauth:
        section = McpServerSection.model_validate({"url": oauth.url, "auth": {"type": "login"}})
        worker = {"mcp_servers": {"demo": {"url": oauth.url, "auth": {"type": "login"}}}}
        (folder / "coterie.yml").write_text(yaml.safe_dump({"worker": worker}))
        settings = load({}, folder)
        store = SignInFile(settings, "demo")
        known = StoredSignIn(
            url=oauth.url,
            token_endpoint=f"{oauth.origin}/token",
            client_id="c",
            access_token="of-ann",
            expires=time.time() + 600,
        )
        oauth.valid.add("of-ann")
        store.write(known)
        servers = McpServers({"demo": McpServer("demo", section, folder, sign_ins=store)}, dict)
        plan = plan_with(section, await listing_of(servers, "demo"), TEAM % more)
        store.delete()
        oauth.valid.clear()
        try:
            async with engine(env, folder, [], servers=servers) as running:
                sign_in = sign_in_of(settings, PORT)
                (folder / ".coterie/console_origin").write_text(sign_in.gate.origins[0])
                access = RunAccess(settings, Connection(env.client, "test", None))
                routes = (*server_sign_in_routes(access, sign_in.gate), *console_routes(access))
                yield Desk(oauth, running, settings, plan, access, sign_in, routes)
        finally:
            await servers.close()


async def test_the_link_of_a_request_signs_a_person_in_and_the_call_goes_on(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with desk(env, tmp_path) as made:
        handle: Any = await made.running.start(made.plan)
        prompt = (await asked(handle))["prompt"]
        found = re.search(r"open (http\S+), and", prompt)
        assert found is not None, prompt
        assert "or run `coterie mcp login demo`" in prompt.lower()
        browser = await made.browser()
        inbox = await browser.get(f"{made.origin}/inbox?run={handle.id}")
        assert f"/mcp-sign-in/demo?run={handle.id}" in inbox.text
        page = await browser.get(found[1])
        assert (page.status_code, "with your account" in page.text) == (200, True), page.text
        assert made.oauth.registered == [], "a page that is only read begins nothing"

        begun = await browser.post(f"{made.origin}/mcp-sign-in/demo", run=handle.id)
        link = begun.headers["refresh"].partition("url=")[2]
        query = parse_qs(urlsplit(link).query)
        assert query["code_challenge_method"] == ["S256"]
        (redirect,) = query["redirect_uri"]
        assert redirect == f"http://127.0.0.1:{PORT}/mcp-sign-in/demo/callback"
        back = await at_server(link)
        there = await browser.get(back, **{"Sec-Fetch-Site": "cross-site"})
        assert there.headers["location"].startswith(f"{made.origin}/mcp-sign-in/demo/callback?")
        done = await browser.get(there.headers["location"], **{"Sec-Fetch-Site": "cross-site"})
        assert done.headers["location"] == f"/runs/{handle.id}?done=signed-in", done.text
        assert not [name for name in browser.cookies[urlsplit(made.origin).netloc] if "mcp" in name]

        assert (await handle.result())["output"] == {"go": {"result": "added 1"}}
        assert len(await scheduled(handle)) == 2, "one activity that asks, one that calls"
        await replay(handle)
        events = (await handle.fetch_history()).events
        history = b"".join(event.SerializeToString() for event in events)
        for token in (*made.oauth.valid, query["state"][0], query["code_challenge"][0]):
            assert token.encode() not in history
            assert token not in page.text + inbox.text + done.text
        assert b"signed in at demo" in history
        assert b"local user" in history
        assert (made.oauth.calls, made.oauth.grants) == (["add 1"], ["authorization_code"])

        again = await browser.get(there.headers["location"])
        assert (again.status_code, "is used up" in again.text) == (400, True)
        assert made.oauth.grants == ["authorization_code"]


async def test_nobody_signs_in_for_another_person_another_server_or_without_the_role(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with desk(env, tmp_path) as made:
        handle: Any = await made.running.start(made.plan)
        await asked(handle)
        path = "/mcp-sign-in/demo"
        viewer = person("vic", Role.VIEWER, Role.APPROVER)
        stranger = person("eve", *Role, teams="another")
        program = person("job", *Role).model_copy(update={"method": "token"})
        for who, status in ((viewer, 403), (stranger, 404), (program, 403)):
            async with made.as_person(who) as http:
                refused = await http.post(path, data={"run": handle.id})
                assert (refused.status_code, made.oauth.registered) == (status, []), who.subject
        ann = person("ann", Role.OPERATOR)
        async with made.as_person(ann) as http:
            begun = await http.post(path, data={"run": handle.id})
            assert (
                await http.post("/mcp-sign-in/other", data={"run": handle.id})
            ).status_code == 409
            elsewhere = await http.post(path, data={"run": "another"})
            assert elsewhere.status_code == 404
        cookie = begun.headers["set-cookie"].partition(";")[0]
        back = urlsplit(await at_server(begun.headers["refresh"].partition("url=")[2]))
        target = f"{back.path}?{back.query}"
        cases = {
            "of another person": (person("ben", Role.OPERATOR), target, cookie),
            "of another browser": (ann, target, ""),
            "with another state": (ann, target.replace("state=", "state=x"), cookie),
            "of another server": (ann, target.replace("/demo/", "/other/"), cookie),
            "who lost the role": (person("ann", Role.VIEWER), target, cookie),
        }
        for name, (who, address, held) in cases.items():
            headers = {"Cookie": held, "Host": urlsplit(made.origin).netloc}
            async with made.as_person(who) as http:
                refused = await http.get(address, headers=headers)
            assert refused.status_code in (400, 403), (name, refused.text)
            assert not SignInFile(made.settings, "demo").read(), name
        assert made.oauth.grants == []
        async with made.as_person(ann) as http:
            headers = {"Cookie": cookie, "Host": urlsplit(made.origin).netloc}
            assert (await http.get(target, headers=headers)).status_code == 303
        assert made.oauth.grants == ["authorization_code"]
        await handle.result()


async def test_only_a_run_that_waits_for_the_sign_in_lets_its_operator_replace_it(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    """All teams use the sign-in, and an operator of one team serves that team alone."""
    async with desk(env, tmp_path) as made:
        sources = [SourceText("team.yml", QUESTION)]
        handle: Any = await made.running.start(
            compile_sources(sources, CAPABILITIES, name="ask").plan
        )
        await asked(handle)
        async with made.as_person(person("ann", Role.OPERATOR)) as http:
            for refused in (
                await http.get("/mcp-sign-in/demo", params={"run": handle.id}),
                await http.post("/mcp-sign-in/demo", data={"run": handle.id}),
            ):
                assert refused.status_code == 409, refused.text
        assert made.oauth.registered == []


async def test_a_page_of_others_begins_no_sign_in(env: WorkflowEnvironment, tmp_path: Path) -> None:
    async with desk(env, tmp_path) as made:
        handle: Any = await made.running.start(made.plan)
        await asked(handle)
        browser = await made.browser()
        host = urlsplit(made.origin).netloc
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies[host].items())
        transport = httpx2.ASGITransport(app=browser.app)
        async with httpx2.AsyncClient(transport=transport, base_url=made.origin) as http:
            for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
                refused = await http.post(
                    "/mcp-sign-in/demo",
                    data={"run": handle.id},
                    headers={"Cookie": cookie, **headers},
                )
                assert refused.status_code == 403, refused.text
        assert made.oauth.registered == []


@pytest.mark.parametrize(
    ("terms", "people"),
    [("approvers: [ben]", ["ben"]), ("approvers: [ann, ben], quorum: 2", ["ann", "ben"])],
)
async def test_a_sign_in_that_is_not_the_whole_approval_leaves_the_rest_to_the_approvers(
    env: WorkflowEnvironment, tmp_path: Path, terms: str, people: list[str]
) -> None:
    async with desk(env, tmp_path, f", requires_approval: {{ {terms} }}") as made:
        handle: Any = await made.running.start(made.plan)
        first = (await asked(handle))["id"]
        for name in people:
            await decide(handle, first, by=name)
        request = await asked(handle)
        assert (request["approvers"], request["sign_in"]) == (people, "demo")
        async with made.as_person(person("ann", Role.OPERATOR)) as http:
            begun = await http.post("/mcp-sign-in/demo", data={"run": handle.id})
            back = urlsplit(await at_server(begun.headers["refresh"].partition("url=")[2]))
            done = await http.get(
                f"{back.path}?{back.query}",
                headers={
                    "Cookie": begun.headers["set-cookie"].partition(";")[0],
                    "Host": urlsplit(made.origin).netloc,
                },
            )
        assert done.headers["location"].endswith("done=signed-in-waits")
        assert made.oauth.calls == []
        await decide(handle, request["id"], by="ben")
        await handle.result()
        assert made.oauth.calls == ["add 1"]
