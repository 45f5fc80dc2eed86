"""`coterie serve` prints a link; a real browser follows it, and other programs get nothing."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.doors.conftest import PATIENCE, free_port, patient, started

RUNS = "fetch('/v1/runs').then((answer) => answer.status)"


@dataclass
class Opened:
    """A gateway that a person has started, and the page that its link opened."""

    folder: Path
    origin: str
    code: str
    page: Page
    asked: list[str]
    """The addresses of all requests that the link led to."""


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    folder = tmp_path_factory.mktemp("project")
    (folder / "coterie.yml").write_text("worker: {accept_plans: false}\n")
    coterie = [sys.executable, "-m", "coterie"]
    options = ["--port", str(free_port()), "--no-browser", "--no-worker"]
    try:
        with started([*coterie, "serve", *options], r"(http://\S+)/open#(\S+)", folder) as found:
            origin, code = found.groups()
            context = patient(browser.new_context())
            page = context.new_page()
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            page.goto(f"{origin}/open#{code}")
            expect(page).not_to_have_url(re.compile("/open|/sign-in"))
            yield Opened(folder, origin, code, page, asked)
            context.close()
    finally:
        subprocess.run([*coterie, "server", "--stop"], cwd=folder, check=False, capture_output=True)


def test_a_link_opens_the_gateway_at_a_name_of_its_own(opened: Opened) -> None:
    assert opened.origin.partition("://")[2].partition(":")[0].endswith(".localhost")
    assert opened.page.evaluate(RUNS) == 200
    assert [url for url in opened.asked if opened.code in url.partition("#")[0]] == []


def test_a_link_works_once(opened: Opened, page: Page) -> None:
    page.goto(f"{opened.origin}/open")
    page.goto(f"{opened.origin}/open#{opened.code}")  # in the same page: nothing is loaded
    expect(page.locator("body")).to_contain_text("This link was used or is old")
    page.go_back()
    assert opened.code not in page.url


def test_a_page_of_another_name_changes_nothing_and_gets_no_cookie(opened: Opened) -> None:
    context = opened.page.context
    assert context.cookies("http://127.0.0.1:1/") == []
    other = context.new_page()
    form = f'<form method="post" action="{opened.origin}/sign-out"><button>Go</button></form>'
    elsewhere = "http://coterie-other.localhost:1/"
    other.route(elsewhere, lambda route: route.fulfill(content_type="text/html", body=form))
    answers: list[int] = []
    other.on("response", lambda response: answers.append(response.status))
    other.goto(elsewhere)
    other.click("button")
    expect(other.locator("body")).to_contain_text("must come from our own pages")
    assert 403 in answers
    other.close()
    assert opened.page.evaluate(RUNS) == 200


def test_who_has_no_session_gets_nothing(opened: Opened) -> None:
    port = opened.origin.rpartition(":")[2]
    for headers, status in (({}, 401), ({"Host": "evil.example"}, 421)):
        request = Request(f"http://127.0.0.1:{port}/v1/runs", headers=headers)
        with pytest.raises(HTTPError) as refused:
            urlopen(request, timeout=PATIENCE)
        assert refused.value.code == status
        refused.value.close()


def test_no_code_and_no_cookie_is_in_a_log(opened: Opened) -> None:
    values = [one.get("value", "") for one in opened.page.context.cookies()]
    assert values
    texts = [file.read_text(errors="replace") for file in opened.folder.glob(".coterie/**/*.log")]
    assert texts
    assert [one for one in (opened.code, *values) if any(one in text for text in texts)] == []


def test_sign_out_ends_the_session(opened: Opened) -> None:
    own = "fetch('/sign-out', {method: 'POST'}).then((answer) => answer.status)"
    assert opened.page.evaluate(own) == 200
    assert opened.page.evaluate(RUNS) == 401
