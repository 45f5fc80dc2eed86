"""The operations of the gateway over a real server: who may what, and what a run then records."""

import json
import re
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from coterie.dsl.model.sections.access_document import RoleName
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.identity.program_tokens import create_token
from coterie.gateway.operations.operation import AnyOperation
from coterie.gateway.operations.operations_table import OPERATIONS
from coterie.runs.histories.history_events import started
from coterie.runs.run_client import Run
from tests.e2e.gateway.conftest import said
from tests.support.gateway import (
    ALL,
    begun,
    client_of,
    described,
    person,
    waiting,
)
from tests.support.project import Project


def sent(operation: AnyOperation, run: str) -> tuple[str, dict[str, Any]]:
    """A request of an operation, about a run that has ended."""
    path = operation.path.format(run=run, team="chore", kind="document", bulk=run)
    bodies: dict[str, dict[str, Any]] = {
        "start": {"team": "chore", "id": run},  # which exists
        "decide": {"request": "x", "decision": "approve", "digest": "x"},
        "message": {"message": "hello", "wait": 0},
        "amend": {"updates": {"word": "x"}},
        "say": {"text": "hello"},
        "redirect": {"team": "only"},
        "skip": {"task": "mark"},
        "fork": {"at": "only#9"},
        "bulk": {"action": "cancel", "runs": [{"run": "x", "run_id": "x", "is_open": True}]},
    }
    params = {"compare": {"other": run}, "preview_bulk": {"action": "retry"}}
    if operation.method == "GET":
        return path, {"params": params.get(operation.name, {})}
    return path, {"json": bodies.get(operation.name, {})}


async def test_the_served_api_takes_tokens_and_half_requests_lock_nobody_out(
    served: Project,
) -> None:
    folder = served.folder
    port = int(re.findall(r"http://127\.0\.0\.1:(\d+)", said(served))[0])
    file = folder / ".coterie/tokens.json"
    token = create_token(file, "ci", ["viewer"], ["*"], time.time(), 600)
    with ExitStack() as stack:
        for _ in range(200):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            half.send(b"GET /v1/runs HTTP/1.1\r\nHost: x\r\n")
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60
        ) as http:
            assert (await http.get("/v1/runs")).json()["code"] == "signed_out"
            assert (await http.get("/v1/openapi.json")).status_code == 401
            http.headers["Authorization"] = f"Bearer {token}"
            assert (await http.get("/v1/runs")).status_code == 200
            refused = await http.post("/v1/runs", json={"team": "chore"})
            assert refused.json()["code"] == "not_allowed"
            document = await http.get("/v1/openapi.json")
            assert document.json()["openapi"] == "3.1.0"
    logs = "".join(file.read_text(errors="replace") for file in folder.rglob("*.log"))
    assert token not in logs


@asynccontextmanager
async def mcp_client(
    served: Project, name: str, *roles: RoleName, teams: str = "*"
) -> AsyncGenerator[Client]:
    """A client of the SDK with a token."""
    port = int(re.findall(r"http://127\.0\.0\.1:(\d+)", said(served))[0])
    url = f"http://127.0.0.1:{port}/mcp"
    file = served.folder / ".coterie/tokens.json"
    token = create_token(file, name, [*roles], [teams], time.time(), 600)
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(trust_env=False, timeout=60, headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


async def test_mcp_clients_use_the_same_port_with_the_roles_of_their_token(
    served: Project,
) -> None:
    port = int(re.findall(r"http://127\.0\.0\.1:(\d+)", said(served))[0])
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
        nobody = await http.post(f"http://127.0.0.1:{port}/mcp", json={})
        assert nobody.status_code == 401
        llms = await http.get(f"http://127.0.0.1:{port}/llms.txt")
        assert "/language-card.md" in llms.text
        card = await http.get(f"http://127.0.0.1:{port}/language-card.md")
        assert card.text.startswith("# Coterie: the language card")
    async with mcp_client(served, "desk", "starter", "viewer", "operator") as client:
        assert "chore" in [tool.name for tool in (await client.list_tools()).tools]
        done = await client.call_tool("chore", {})
        assert (done.structured_content or {})["state"] == "done", done
    report: dict[str, Any] = done.structured_content or {}
    history = await Run(await served.client(), report["run"]).history()
    sender = started(history).sender
    assert sender is not None
    assert sender.text == "token desk (token) from 127.0.0.1 by mcp"

    async with mcp_client(served, "reader", "viewer") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"result", "why", "runs", "validate"} <= names
        assert not {"chore", "start", "test"} & names
        refused = await client.call_tool("chore", {})
        assert "this needs the role starter" in said_by(refused)
        result = await client.call_tool("result", {"run": report["run"]})
        assert (result.structured_content or {})["state"] == "done"
        why = await client.call_tool("why", {"run": report["run"]})
        explained: dict[str, Any] = why.structured_content or {}
        assert [visit["team"] for visit in explained["answer"]["visits"]] == ["only"]
        listed = await client.call_tool("runs", {"team": "chore", "path": "runs.0"})
        assert (listed.structured_content or {})["answer"]["run"] == report["run"]
        assert "nothing lies at" in said_by(
            await client.call_tool("cost", {"run": report["run"], "path": "x"})
        )
        untested = await client.call_tool("test", {"text": "a", "tests": "b"})
        assert "needs the role starter" in said_by(untested)

    async with mcp_client(
        served, "operations-other", "viewer", "starter", teams="another"
    ) as client:
        for tool in ("result", "why", "cost"):
            hidden = await client.call_tool(tool, {"run": report["run"]})
            assert hidden.is_error
            assert "chore" not in said_by(hidden).replace(report["run"], "")
        unread = await client.call_tool("validate", {"file": "config/teams/chore.yml"})
        assert "needs the role viewer for all teams" in said_by(unread)


def said_by(answer: CallToolResult) -> str:
    return "".join(part.text for part in answer.content if part.type == "text")


async def test_every_operation_takes_its_roles_and_refuses_all_others(app: object) -> None:
    """Nothing is done for nobody, for a person without a role, nor for one of another team."""
    run = await begun(app, "chore")
    await described(app, run, "completed")
    people: dict[str, Identity | None] = {role: person("ann", role) for role in Role}
    people |= {"nobody": None, "no role": person("ann")}
    people["another team"] = person("ann", *Role, teams="another")
    for name, identity in people.items():
        async with client_of(app, identity) as http:
            for operation in OPERATIONS:
                path, parts = sent(operation, run)
                answer = await http.request(operation.method, f"/v1{path}", **parts)
                status, code = answer.status_code, answer.json().get("code")
                what = f"{operation.name} as {name}: {status} {answer.text[:300]}"
                is_role = any(role == name for role in operation.roles)
                if identity is None:
                    assert (status, code) == (401, "signed_out"), what
                elif operation.name == "bulk_progress" and (is_role or name == "another team"):
                    assert (status, code) == (404, "unknown_run"), what  # a run is no bulk action
                elif name == "another team" and operation.about in ("project", "teams"):
                    assert status in (200, 422), what
                elif name == "another team":
                    about = {"run": (404, "unknown_run"), "team": (403, "not_allowed")}
                    assert (status, code) == about[operation.about], what
                elif is_role:
                    assert status in (200, 409, 422), what
                else:
                    assert (status, code) == (403, "not_allowed"), what


async def test_lists_hold_only_what_the_grants_of_an_identity_reach(app: object) -> None:
    run = await begun(app, "offer", amount=3)
    await waiting(app, run)
    async with client_of(app, person("eve", *Role, teams="chore")) as http:
        listing = (await http.get("/v1/runs")).json()
        assert run not in [row["run"] for row in listing["runs"]]
        assert (await http.get("/v1/requests")).json()["requests"] == []
        assert [team["team"] for team in (await http.get("/v1/teams")).json()["teams"]] == ["chore"]
        about_one = await http.get("/v1/requests", params={"run": run})
        assert (about_one.status_code, about_one.json()["code"]) == (404, "unknown_run")
        compared = await http.get(f"/v1/runs/{run}/compare", params={"other": run})
        assert compared.status_code == 404
        own = await begun(app, "chore")
        await described(app, own, "completed")
        fork = {"at": "only#1", "id": run}
        taken = {"team": "chore", "id": run}
        for answer in (
            await http.post("/v1/runs", json=taken),
            await http.post(f"/v1/runs/{own}/fork", json=fork),
        ):
            refused = answer.json()
            assert (answer.status_code, refused["code"]) == (409, "id_taken")
            assert refused["message"] == f"the id {run!r} is taken"
        seen = (await http.post("/v1/runs", json={**taken, "id": own})).json()
        assert f"run {own!r} already exists" in seen["message"]
    async with client_of(app, ALL) as http:
        assert run in [row["run"] for row in (await http.get("/v1/runs")).json()["runs"]]
        assert (await http.post(f"/v1/runs/{run}/cancel")).status_code == 200


async def test_a_quorum_takes_two_verified_people_and_the_run_records_them(app: object) -> None:
    run = await begun(app, "offer", amount=3)
    asked = await waiting(app, run)
    request = asked["request"]
    decision = {"request": request["id"], "decision": "approve", "digest": request["digest"]}
    path = f"/v1/runs/{run}/decisions"
    async with client_of(app, person("cleo", Role.APPROVER)) as http:
        assert (await http.post(path, json=decision)).json()["code"] == "refused"
        own = await http.post(path, json={**decision, "by": "ann"})
        assert (own.status_code, own.json()["code"]) == (422, "invalid")
    async with client_of(app, person("ann", Role.APPROVER)) as http:
        old = await http.post(path, json={**decision, "digest": "0" * 64})
        assert old.json()["code"] == "refused"
        first = await http.post(path, json=decision)
        assert (first.json()["verdict"], first.json()["by"]) == ("counted", "ann"), first.text
        assert (await http.post(path, json=decision)).json()["code"] == "refused"
    async with client_of(app, person("ben", Role.APPROVER, Role.VIEWER)) as http:
        mine = (await http.get("/v1/requests", params={"run": run})).json()["requests"]
        assert [row["is_yours"] for row in mine] == [True]
        second = await http.post(path, json=decision)
        assert second.json()["verdict"] == "approved", second.text
    ended = await described(app, run, "completed")
    assert ended["result"]["decisions"][0]["by"] == "ann, ben"


async def test_steering_is_recorded_by_the_identity_and_read_back_in_every_view(
    app: object,
) -> None:
    run = await begun(app, "offer", amount=3)
    request = (await waiting(app, run))["request"]["id"]
    async with client_of(app, person("ann", Role.OPERATOR, Role.VIEWER)) as http:
        why = {"why": "a reason"}
        assert (await http.post(f"/v1/runs/{run}/pause", json=why)).json()["by"] == "ann (oidc)"
        assert (await http.post(f"/v1/runs/{run}/resume")).status_code == 200
        change = {"updates": {"note": "changed"}, **why}
        assert (await http.post(f"/v1/runs/{run}/amend", json=change)).status_code == 200
        skipped = await http.post(f"/v1/runs/{run}/skip", json={"task": "sign"})
        assert skipped.json()["code"] == "refused"  # the step has approvers, and ann is none here
    async with client_of(app, person("ann", *Role)) as http:
        skipped = await http.post(f"/v1/runs/{run}/skip", json={"task": "sign"})
        assert skipped.json()["by"] == "ann", skipped.text
        ended = await described(app, run, "completed")
        assert ended["result"]["context"]["note"] == "changed"
        trail = (await http.get(f"/v1/runs/{run}/trail")).text
        assert "ann (oidc)" in trail
        state = await http.get(f"/v1/runs/{run}/state", params={"path": "context.note"})
        assert state.json()["value"] == "changed"
        for part, name in (("state", "path"), ("show", "name")):
            unknown = await http.get(f"/v1/runs/{run}/{part}", params={name: "nothing/here"})
            assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_part")
        why_answer = (await http.get(f"/v1/runs/{run}/why", params={"about": "first"})).json()
        assert why_answer["visits"][0]["next_team"] == "last"
        shown = await http.get(f"/v1/runs/{run}/show", params={"name": request})
        assert shown.json()["request"]["decision"]["by"] == "ann", shown.text
        assert (await http.get(f"/v1/runs/{run}/cost")).json()["total"]["calls"] == 0
        svg = (await http.get(f"/v1/runs/{run}/graph", params={"format": "svg"})).json()["text"]
        assert svg.startswith("<svg") or "<svg" in svg
        forked = await http.post(f"/v1/runs/{run}/fork", json={"at": "last#1", "id": f"{run}/two"})
        assert forked.json()["run"] == f"{run}/two", forked.text
        other = quote(f"{run}/two", safe="")
        await described(app, other, "completed")
        compared = await http.get(f"/v1/runs/{run}/compare", params={"other": f"{run}/two"})
        assert compared.json()["context"] == [], compared.text


async def test_what_does_not_fit_is_refused_in_our_form_and_starts_nothing(app: object) -> None:
    async with client_of(app, ALL) as http:
        cases = {
            "unreadable_body": await http.post("/v1/runs", content=b"{", headers=JSON),
            "unknown_team": await http.post("/v1/runs", json={"team": "chor"}),
            "unknown_path": await http.get("/v1/nothing"),
            "unknown_method": await http.put("/v1/runs"),
            "unknown_run": await http.get("/v1/runs/nothing"),
            "too_large": await http.post("/v1/runs", content=b" " * 5_000_000, headers=JSON),
        }
        for code, answer in cases.items():
            assert answer.json()["code"] == code, answer.text
            assert set(answer.json()) == {"code", "message", "fix"}
        invalid = [
            await http.get("/v1/runs", params={"limt": 3}),
            await http.get("/v1/runs", params={"limit": 100_000}),
            await http.get("/v1/runs", params={"newer_than": "9" * 18 + "d"}),
            await http.post("/v1/runs", json={"team": "chore", "contxt": {}}),
            await http.post("/v1/runs", content=b"[" * 100_000, headers=JSON),
            await http.post(
                "/v1/runs", content=b'{"team": "chore", "id": "\\ud800"}', headers=JSON
            ),
            await http.post("/v1/runs", content=b'{"team": "chore", "context": NaN}', headers=JSON),
            await http.post("/v1/runs", content=b'{"team": "chore"}'),
            await http.post("/v1/runs", json={"team": "offer", "context": {"amount": "much"}}),
            await http.post("/v1/runs", json={"team": "chore", "id": "two\nlines"}),
            await http.post("/v1/runs/x/fork", json={}),
        ]
        for answer in invalid:
            assert answer.status_code in (400, 404, 422), answer.text
            assert set(answer.json()) == {"code", "message", "fix"}
            assert "Traceback" not in answer.text


async def test_nobody_takes_the_id_of_a_trigger_or_of_the_host(app: object) -> None:
    run = await begun(app, "chore")
    await described(app, run, "completed")
    reserved = (
        "hook/review/opened/7",
        "schedule/coterie/report/night-2026-11-30T04:30:00Z",
        "coterie-registry-coterie",
        "coterie-audit-coterie",
        "coterie-bulk-retry-1",
    )
    async with client_of(app, ALL) as http:
        for id in reserved:
            for path, body in (
                ("/runs", {"team": "chore"}),
                (f"/runs/{run}/fork", {"at": "only#1"}),
                (f"/runs/{run}/retry", {}),
            ):
                answer = await http.post(f"/v1{path}", json={**body, "id": id})
                code = answer.json()["code"]
                assert (answer.status_code, code) == (422, "reserved_id"), (path, answer.text)
            assert (await http.get(f"/v1/runs/{quote(id, safe='')}")).status_code == 404
        near = await http.post("/v1/runs", json={"team": "chore", "id": f"hooks/{run}"})
        assert near.status_code == 200, near.text


async def test_a_person_starts_decides_and_steers_by_forms_without_script(app: object) -> None:
    async with client_of(app, ALL) as http:
        fields = {"team": "offer", "field:amount": "much"}
        wrong = await http.post("/start", data=fields)
        assert (wrong.status_code, "is not a whole number" in wrong.text) == (422, True)
        started = await http.post("/start", data={**fields, "field:amount": "3"})
        address = started.headers["location"]
        run = address.removeprefix("/runs/").partition("?")[0]
        asked = (await waiting(app, run))["request"]
        assert "Send?" in (await http.get("/inbox")).text
        pick = {"run": run, "request": asked["id"], "digest": asked["digest"]}
        form = {"pick": json.dumps(pick), "decision": "approve", "comment": "by a form"}
        for name, status in (("cleo", 409), ("ann", 303), ("ann", 409), ("ben", 303)):
            async with client_of(app, person(name, Role.APPROVER, Role.VIEWER)) as own:
                answer = await own.post("/decide", data=form)
                assert answer.status_code == status, answer.text
                assert status == 303 or "by a form" in answer.text, "what was typed is lost"
        await described(app, run, "completed")
        page = (await http.get(f"/runs/{run}")).text
        assert "ann, ben" in page
        steered = await http.post(
            "/steer", data={"run": run, "action": "fork", "field:at": "last#1"}
        )
        assert steered.headers["location"].endswith("?done=fork"), steered.text
        assert (
            "Both ran the same plan"
            in (await http.get("/compare", params={"run": run, "other": run})).text
        )


async def test_a_page_says_why_it_shows_nothing_and_keeps_what_was_typed(app: object) -> None:
    form = {"pick": "{}", "decision": "approve", "comment": "typed for minutes"}
    async with client_of(app) as http:
        for path in ("/inbox", "/runs", "/runs/x", "/teams", "/teams/chore", "/compare"):
            signed_out = await http.get(path)
            assert (signed_out.status_code, "/sign-in?to=" in signed_out.text) == (401, True), path
        lost = await http.post("/decide", data=form)
        assert (lost.status_code, "typed for minutes" in lost.text) == (401, True)
    async with client_of(app, person("nora")) as http:
        answer = await http.get("/inbox")
        assert (answer.status_code, "Ask an administrator" in answer.text) == (403, True)
    async with client_of(app, ALL) as http:
        unknown = await http.get("/runs/nothing")
        assert (unknown.status_code, "coterie report" in unknown.text) == (404, True)
        policy = unknown.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")


JSON = {"content-type": "application/json"}
