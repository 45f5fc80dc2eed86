"""A page for each thing that may be missing: a path, a role, an answer, a session, a project."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from coterie.failures import CommandError
from coterie.gateway.app import application
from coterie.gateway.console.console_routes import console_routes
from coterie.gateway.console.page_templates import SERVED_POLICY, PageFrame, prose
from coterie.gateway.console.served_pages import answered, page_response
from coterie.gateway.console.states.first_project import FirstProject
from coterie.gateway.console.states.latest_pages import LatestPages, ShownPage
from coterie.gateway.endpoints import IDENTITY
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.team_catalog import TeamListing
from coterie.runs.call_errors import Unanswered
from coterie.settings import load
from tests.support.gateway import by_header, client_of, person
from tests.unit.gateway.console.pages import read_html, text_in

BROWSER = {"Accept": "text/html,application/xhtml+xml"}
ACCESS = """
access:
  grants:
    - { groups: [staff], roles: [viewer] }
    - { subjects: [root@example.com], groups: [leads, "*"], roles: [admin] }
"""
EMPTY = TeamListing(teams=())


def project_in(folder: Path) -> RunAccess:
    """A project without a server."""
    return RunAccess(load({}, folder), cast("Any", None))


def app_in(folder: Path) -> object:
    access = project_in(folder)
    return application(access, by_header, console_routes(access))


async def test_an_unknown_path_is_a_page_for_browsers_and_json_for_programs(
    tmp_path: Path,
) -> None:
    app = app_in(tmp_path)
    async with client_of(app, person("ann", *Role)) as http:
        for method, path, status in (("GET", "/nothing/here", 404), ("GET", "/decide", 405)):
            page = await http.request(method, path, headers=BROWSER)
            assert (page.status_code, page.headers["content-type"][:9]) == (status, "text/html")
            assert page.headers["content-security-policy"] == SERVED_POLICY
        assert "There is no such page" in (await http.get("/nothing", headers=BROWSER)).text
        for path, headers in (("/v1/nothing", BROWSER), ("/nothing", {"Accept": "*/*"})):
            answer = await http.get(path, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (404, "unknown_path")
    async with client_of(app) as http:
        assert "Sign in" in (await http.get("/nothing", headers=BROWSER)).text


async def test_who_has_no_role_learns_whom_to_ask(tmp_path: Path) -> None:
    (tmp_path / "coterie.yml").write_text(ACCESS)
    async with client_of(app_in(tmp_path), person("carl")) as http:
        for path in ("/inbox", "/runs", "/teams", "/teams/notes"):
            page = await http.get(path)
            text = text_in(read_html(page.text))
            assert page.status_code == 403
            assert "You have no role here yet" in text
            assert "Ask root@example.com or the group leads for the role." in text


async def seen(answers: Sequence[Response | CommandError], people: Sequence[Identity]) -> list[Any]:
    """What people get at one address, one after the other."""
    left = iter(answers)

    async def handler(request: Request, identity: Identity) -> Response:
        answer = next(left)
        if isinstance(answer, CommandError):
            raise answer
        title = "Teams"
        return page_response(request, identity, "teams.html", title, EMPTY, refreshes=9)

    latest = LatestPages(lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    app = Starlette(routes=[Route("/teams", answered(handler, latest))])
    app.state.access = None

    async def as_person(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope["state"] = {IDENTITY: await by_header(Request(scope))}
        await app(scope, receive, send)

    found: list[Any] = []
    for one in people:
        async with client_of(as_person, one) as http:
            found.append(await http.get("/teams"))
    return found


SILENT = Unanswered("could not list runs: connection refused")


async def test_while_the_server_does_not_answer_a_page_shows_what_was_seen_and_when() -> None:
    ann, ben = person("ann", Role.VIEWER), person("ben", Role.VIEWER)
    before, stale, other = await seen([Response(), SILENT, SILENT], [ann, ann, ben])
    assert before.status_code == 200
    tree = read_html(stale.text)
    assert stale.status_code == 503
    assert "No teams here" in text_in(tree)
    assert "this is the state of 2026-01-02 03:04:05Z" in text_in(tree)
    assert tree.xpath("//body/@data-refresh") == ["3"]
    assert tree.xpath("//body/@data-at") == ["2026-01-02T03:04:05+00:00"]
    assert "Temporal does not answer" in other.text, "what others saw is not shown"
    assert "data-at" not in other.text


async def test_a_page_of_before_is_not_shown_to_who_has_lost_a_role_nor_for_other_errors() -> None:
    ann, gone = person("ann", Role.VIEWER), Rejection(404, "unknown_run", "there is no run")
    poorer = ann.model_copy(update={"grants": ()})
    answers = await seen([Response(), SILENT, gone], [ann, poorer, ann])
    assert ["data-at" in answer.text for answer in answers] == [False] * 3
    assert "retention" in answers[2].text


def test_only_some_pages_are_kept() -> None:
    latest, ann = LatestPages(), person("ann")
    for number in range(100):
        shown = ShownPage("teams.html", cast("PageFrame", None), EMPTY, None)
        latest.keep(ann, f"/{number}", shown)
    assert latest.find(ann, "/0") is None
    assert latest.find(ann, "/99") is not None


async def test_a_form_keeps_what_was_typed_when_the_session_has_ended(tmp_path: Path) -> None:
    async with client_of(app_in(tmp_path)) as http:
        form = {"pick": '{"run": "r"}', "decision": "approve", "comment": "my <reason>"}
        page = await http.post("/decide", data=form)
    tree = read_html(page.text)
    assert page.status_code == 401
    assert tree.xpath("//textarea/@name") == ["comment"]
    assert tree.xpath("//textarea/text()") == ["my <reason>"]
    hidden = tree.xpath("//form[@action='/decide']/input[@type='hidden']")
    kept = {field.get("name"): field.get("value") for field in hidden}
    assert kept == {"pick": '{"run": "r"}', "decision": "approve"}
    assert tree.xpath("//form[@action='/decide']//button")


def first_project(folder: Path, restarted: list[bool]) -> FirstProject:
    async def restart() -> None:
        restarted.append(True)

    return FirstProject(project_in(folder), restart)


LOCAL = person("ann", *Role).model_copy(update={"method": "local"})


async def test_the_example_is_offered_in_an_empty_folder_alone(tmp_path: Path) -> None:
    first = first_project(tmp_path, [])
    (tmp_path / ".coterie").mkdir()
    offer = first.offer(LOCAL)
    assert offer is not None
    assert offer.folder == str(tmp_path)
    assert "coterie.yml" in offer.files
    assert first.offer(person("ann", *Role)) is None, "who signs in elsewhere"
    (tmp_path / "mine.txt").touch()
    assert first.offer(LOCAL) is None
    with pytest.raises(Rejection, match="only in an empty folder"):
        await first.create(LOCAL)
    assert sorted(os.listdir(tmp_path)) == [".coterie", "mine.txt"]


async def test_the_worker_reads_the_example_before_its_run_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from coterie.gateway.console.states import first_project as module
    from coterie.gateway.operations.run_starts import StartAsked, StartedRun

    restarted: list[bool] = []
    first = first_project(tmp_path, restarted)

    async def start(access: RunAccess, _: object, asked: StartAsked, __: object) -> StartedRun:
        assert restarted == [True]
        assert access.settings.config_roots == (tmp_path / "config",)
        assert asked.context == {"changes": "the search is faster"}
        return StartedRun(run="notes-1", team=asked.team, is_served=True)

    monkeypatch.setattr(module, "perform", start)
    assert await first.create(LOCAL) == "notes-1"
    assert (tmp_path / "config/teams/notes.yml").is_file()
    assert first.offer(LOCAL) is None


def test_only_balanced_backticks_become_code_and_all_is_escaped() -> None:
    assert prose("run `a <b>` now") == "run <code>a &lt;b&gt;</code> now"
    assert prose("a ` <i>") == "a ` &lt;i&gt;"
