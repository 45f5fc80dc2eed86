"""What forms of the console show, refuse and record, over an application without a server."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from starlette.routing import Route
from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus

from coterie.gateway.app import application
from coterie.gateway.console.chat.chat_routes import SessionForms
from coterie.gateway.console.chat.message_forms import MessageForm
from coterie.gateway.console.console_routes import console_routes
from coterie.gateway.identity.identity import Role
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.request_gate import MAX_BODY
from coterie.runs.call_errors import Unanswered
from coterie.runs.run_client import Run
from coterie.server.connection import Connection
from coterie.settings import load
from tests.support.gateway import by_header, client_of, person
from tests.support.recorded_pages import RecordedPages

SAID = "Well said"
"""In the recorded session, and on no page of who may not read it."""
FORM = MessageForm("fields", {"properties": {"n": {"type": "integer"}}, "required": ["n"]})
POSTED = {
    "run": "r",
    "team": "talk",
    "why": "w",
    "decision": "approve",
    "pick": '{"run": "r", "request": "q", "digest": "d"}',
    "chosen": '{"run": "r", "run_id": "x"}',
    "item": '{"run": "r", "run_id": "x", "is_open": true}',
    "task": "talk/say",
    "field:n": "wrong",
}
ACTIONS = ("", "amend", "skip", "retry", "pause", "fork", "cancel", "decide")
URLENCODED = {"content-type": "application/x-www-form-urlencoded"}
MULTIPART = {"content-type": "multipart/form-data; boundary=x"}


class OneSession(RunAccess):
    """A recorded session, without a server."""

    def __init__(self, folder: Path) -> None:
        """Read the recorded session."""
        super().__init__(load({}, folder), cast("Connection", None))
        self.pages = RecordedPages.of("chat")

    @property
    def client(self) -> Client:
        """No client."""
        raise Unanswered("there is no server")

    async def find(self, id: str) -> FoundRun:
        """Return the session, whatever its id."""
        description = SimpleNamespace(
            run_id="x", status=WorkflowExecutionStatus.COMPLETED, task_queue="q", history_length=9
        )
        run = cast("Run", SimpleNamespace(id=id))
        return FoundRun(run, "talk", cast("WorkflowExecutionDescription", description))


@pytest.fixture
def access(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunAccess:
    async def form(*_: object) -> MessageForm:
        return FORM

    monkeypatch.setattr(SessionForms, "of", form)
    return OneSession(tmp_path)


def app_of(access: RunAccess) -> object:
    return application(access, by_header, console_routes(access))


def addresses(access: RunAccess, method: str) -> list[str]:
    """The addresses of all routes, about the run."""
    return [
        route.path.replace("{run:path}", "r").replace("{team:path}", "talk")
        for route in console_routes(access)
        if isinstance(route, Route) and method in (route.methods or ())
    ]


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.VIEWER])
async def test_no_page_shows_a_session_to_who_may_not_read_it(
    role: Role, access: RunAccess
) -> None:
    app = app_of(access)
    async with client_of(app, person("ann", Role.VIEWER)) as http:
        assert SAID in (await http.get("/chat/r")).text
    async with client_of(app, person("sam", role)) as http:
        for path in addresses(access, "GET"):
            assert SAID not in (await http.get(path, params={"run": "r"})).text, path
            for action in ACTIONS if path == "/steer" else ():
                asked = {"run": "r", "action": action, "task": "talk/say"}
                assert SAID not in (await http.get(path, params=asked)).text, action
        for path in addresses(access, "POST"):
            for action in ACTIONS:
                for more in ({}, {"add": "n"}, {"with_values": "1"}):
                    form = {**POSTED, **more, "action": action}
                    answer = await http.post(path, data=form)
                    assert SAID not in answer.text, (path, form)


async def test_who_may_send_and_not_read_corrects_a_message(access: RunAccess) -> None:
    async with client_of(app_of(access), person("sam", Role.STARTER)) as http:
        answer = await http.post("/chat/r", data={"nonce": "7", "field:n": "wrong"})
    assert answer.status_code == 422
    assert "Nothing was sent." in answer.text
    assert 'value="7"' in answer.text
    assert 'value="wrong"' in answer.text


FORMS = ("/bulk/preview", "/bulk", "/decide", "/steer", "/start", "/chat/r")


@pytest.mark.parametrize("path", FORMS)
async def test_a_form_that_cannot_be_read_is_refused_by_a_sentence(
    path: str, access: RunAccess, caplog: pytest.LogCaptureFixture
) -> None:
    sent = [
        ("&".join(f"item={n}" for n in range(2_001)), URLENCODED),
        ("--y\r\ngarbage", MULTIPART),
        ("", {"content-type": "multipart/form-data"}),
    ]
    for who in (person("ann", *Role), None):
        async with client_of(app_of(access), who) as http:
            for content, headers in sent:
                answer = await http.post(path, content=content, headers=headers)
                assert answer.status_code == (401 if who is None else 400), content[:20]
                assert who is None or "unreadable_body" in answer.text
    assert not [record for record in caplog.records if record.name == "coterie"]


async def test_a_form_holds_a_thousand_choices_and_as_much_as_a_body(access: RunAccess) -> None:
    choices = [json.dumps({"run": f"r{n}", "run_id": "x", "is_open": True}) for n in range(1_000)]
    form = {"action": "cancel", "why": "w", "scope": "chosen", "chosen": choices}
    async with client_of(app_of(access), person("ann", *Role)) as http:
        answer = await http.post("/bulk/preview", data=form)
        assert answer.status_code == 200
        assert "r999" in answer.text
        long = {"nonce": (None, "7"), "field:n": (None, "x" * 1_500_000)}
        answer = await http.post("/chat/r", files=long)
        assert answer.status_code == 422


async def test_a_body_without_a_length_is_bounded_on_a_page_too(access: RunAccess) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY // 65_536 + 2):
            yield b"x" * 65_536

    async with client_of(app_of(access), person("ann", *Role)) as http:
        answer = await http.post("/bulk", content=endless(), headers=URLENCODED)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("method", "path", "role", "about"),
    [
        ("GET", "/runs/r", Role.STARTER, "run page"),
        ("GET", "/chat/r", Role.STARTER, "chat page"),
        ("POST", "/chat/r", Role.VIEWER, "message"),
        ("GET", "/steer?run=r&action=amend", Role.VIEWER, "amend"),
        ("POST", "/steer", Role.VIEWER, "skip"),
        ("GET", "/v1/runs/r/events", Role.STARTER, "events"),
    ],
)
async def test_a_refusal_outside_an_operation_is_in_the_audit_log(
    method: str, path: str, role: Role, about: str, access: RunAccess
) -> None:
    form = {"run": "r", "action": "skip", "with_values": "1"} if method == "POST" else None
    async with client_of(app_of(access), person("sam", role)) as http:
        assert (await http.request(method, path, data=form)).status_code == 403
    batch = access.audit.take()
    assert batch is not None
    assert [(one.act, one.about, one.code, one.subject) for one in batch.records] == [
        ("refused", about, "not_allowed", "sam")
    ]
