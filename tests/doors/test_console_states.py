"""What the console shows where something is missing: each state once, in a real browser."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.doors.conftest import free_port, patient, server_stopped, started
from tests.doors.test_console import AXE, JUDGE, Console

COTERIE = [sys.executable, "-m", "coterie"]
LINK = r"(http://\S+)/open#(\S+)"


@dataclass
class EmptyFolder:
    """`coterie serve` in a folder that was empty."""

    folder: Path
    console: Console
    gateway: ExitStack
    """Ends the gateway, with its worker."""
    temporal: str
    """The address of its server."""


@pytest.fixture(scope="module")
def empty(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmptyFolder]:
    folder = tmp_path_factory.mktemp("empty")
    program = [*COTERIE, "serve", "--port", str(free_port()), "--no-browser"]
    ready = rf"Temporal +(\S+)[\s\S]*{LINK}"
    with server_stopped(folder), ExitStack() as gateway:
        found = gateway.enter_context(started(program, ready, folder))
        temporal, origin, code = found.groups()
        yield EmptyFolder(folder, signed_in(browser, origin, code, folder), gateway, temporal)


def signed_in(browser: Browser, origin: str, code: str, folder: Path) -> Console:
    """The console of a person with a one-time link."""
    context = patient(browser.new_context())
    page = context.new_page()
    page.goto(f"{origin}/open#{code}")
    expect(page).to_have_url(f"{origin}/inbox")
    state = folder.parent / f"{folder.name}.json"
    context.storage_state(path=state)
    context.close()
    return Console(browser, origin, state, [])


def is_sound(page: Page) -> None:
    """Nothing on a page is wrong for a screen reader, nor wider than the window."""
    page.evaluate(AXE.read_text())
    assert page.evaluate(JUDGE) == [], page.url
    width = (page.viewport_size or {"width": 0})["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url


def test_a_click_creates_and_runs_the_example_in_an_empty_folder(empty: EmptyFolder) -> None:
    page = empty.console.page("dark", 360)
    page.goto("/inbox")
    expect(page.get_by_text("Start with an example")).to_be_visible()
    is_sound(page)
    assert os.listdir(empty.folder) == [".coterie"], "nothing is written before the click"
    page.get_by_role("button", name="Create the example and run it").click()
    expect(page).to_have_url(re.compile(r"/runs/notes-\w+\?done=example$"))
    expect(page.locator("h1 .pill")).to_have_text("waiting")
    assert {"config", "coterie.yml"} <= set(os.listdir(empty.folder))
    page.goto("/inbox")
    expect(page.get_by_text("Publish the notes?")).to_be_visible()


def test_what_does_not_exist_is_said_with_the_next_step(empty: EmptyFolder) -> None:
    page = empty.console.page()
    words = {
        "/nothing/here": "There is no such page",
        "/runs/deleted": "The server deletes ended runs after its retention time",
        "/teams/none": "There is no such team",
        "/evals/none": "There is no such report",
        "/runs?team=none": "No run matches",
        "/upgrade?team=none": "No run is open",
        "/teams/notes": "No eval of this team yet",
    }
    for path, text in words.items():
        page.goto(path)
        expect(page.get_by_text(text).first).to_be_visible()
        is_sound(page)


def test_an_upgrade_shows_each_open_run(empty: EmptyFolder) -> None:
    page = empty.console.page()
    page.goto("/teams/notes")
    page.get_by_role("link", name="What an upgrade would change").click()
    expect(page.locator("h1")).to_have_text("Nothing would be decided differently.")
    expect(page.locator(".replayed")).to_contain_text("its worker reports the same")
    expect(page.locator(".replayed")).to_contain_text("current plan")


def test_a_session_that_ends_in_the_middle_of_a_form_loses_no_text(empty: EmptyFolder) -> None:
    page = empty.console.page()
    page.goto("/teams/notes")
    page.get_by_label("Id of the run").fill("my-own-name")
    page.context.clear_cookies()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("You are signed out")
    expect(page.locator("textarea[name=id]")).to_have_value("my-own-name")
    is_sound(page)


def test_without_a_worker_and_then_without_a_server_the_console_says_so(
    empty: EmptyFolder, browser: Browser
) -> None:
    """The last test of this module: it ends the gateway, then the server."""
    empty.gateway.close()
    program = [*COTERIE, "serve", "--port", str(free_port()), "--no-browser"]
    address = empty.temporal  # so the gateway does not restart the server
    with started(program, LINK, empty.folder, COTERIE_ADDRESS=address) as found:
        origin, code = found.groups()
        console = signed_in(browser, origin, code, empty.folder)
        page, other = console.page(), console.page("dark", 360)
        page.goto("/runs")
        expect(page.get_by_text("No worker polls the task queue")).to_be_visible()
        is_sound(page)
        with server_stopped(empty.folder):
            pass
        expect(page.locator(".stale")).to_contain_text("this is the state of")
        other.goto("/runs")
        expect(other.locator(".stale")).to_contain_text("The server of Temporal does not answer")
        expect(other.get_by_role("link", name=re.compile("^notes-"))).to_be_visible()
        is_sound(other)
