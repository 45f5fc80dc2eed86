"""The door for A2A clients: whom it lets in, and what it says without its SDK."""

import json
import sys
from pathlib import Path

import pytest
from starlette.applications import Starlette

from coterie.gateway.doors.a2a.a2a_door import A2aDoor
from coterie.gateway.doors.a2a.bounded_requests import MAX_BODY, MAX_VALUES
from coterie.gateway.identity.identity import Role
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.request_gate import RequestGate
from coterie.server.connection import Connection
from coterie.settings import load
from tests.support.gateway import by_header, client_of, person

APPLICATION = "coterie.gateway.doors.a2a.a2a_application"


def gateway(folder: Path) -> RequestGate:
    """The door behind the gate, without a server."""
    access = RunAccess(load({}, folder), Connection.__new__(Connection))
    app = Starlette(routes=A2aDoor(access).routes)
    app.state.streams = None
    return RequestGate(app, by_header)


async def test_only_programs_with_a_token_come_in(tmp_path: Path) -> None:
    app = gateway(tmp_path)
    for path in ("/a2a", "/a2a/pay", "/a2a/pay/message:send", "/.well-known/agent-card.json"):
        async with client_of(app) as http:
            assert (await http.get(path)).json()["code"] == "signed_out"
        async with client_of(app, person("ann", *Role)) as http:  # by a cookie, as a page of others
            answer = await http.get(path)
            assert (answer.status_code, answer.json()["code"]) == (401, "signed_out")


async def test_without_the_sdk_it_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, APPLICATION, raising=False)
    monkeypatch.setitem(sys.modules, "a2a.server.request_handlers.response_helpers", None)
    async with client_of(gateway(tmp_path), person("ann", *Role)) as http:
        http.headers["Authorization"] = "Bearer x"
        answer = await http.get("/a2a")
    assert answer.status_code == 501
    assert "pip install" in answer.json()["fix"] or "[a2a]" in answer.json()["fix"]


@pytest.mark.parametrize("path", ["/a2a/pay", "/a2a/pay/message:send"])
async def test_what_its_sdk_would_work_on_for_long_is_refused_before(
    tmp_path: Path, path: str
) -> None:
    many = {"message": {"parts": [{"data": [[1, 2, 3]] * (MAX_VALUES // 4)}]}}
    large = {"message": {"parts": [{"text": "x" * MAX_BODY}]}}
    deep = "[" * 100_000 + "]" * 100_000
    cases = {json.dumps(many): 413, json.dumps(large): 413, deep: 400}
    async with client_of(gateway(tmp_path), person("ann", *Role)) as http:
        http.headers["Authorization"] = "Bearer x"
        for body, status in cases.items():
            answer = await http.post(path, content=body)
            assert (answer.status_code, "code" in answer.json()) == (status, True)
