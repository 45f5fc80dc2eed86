"""The console in a real browser: decided by mouse, keyboard and without script; for everybody."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.doors.conftest import HERE, free_port, patient, started
from tests.law.sources import ROOT
from tests.stand_in.install import node

TEAM = """
description: Asks a person before it pays.
orchestration:
  entry_team: sign
  context: {amount: {type: integer}, note: {type: string, default: ""}}
  teams:
    sign:
      tasks:
        - {name: pay, type: approval, prompt: "Pay {{ context.amount }} EUR?",
           show: "{{ context.amount }}", editable: true}
      routing: {rules: [{condition: all_success, next_team: last}], default: null}
    last: {tasks: [{name: say, type: set, values: {done: "{{ context.note }}"}}]}
"""
BILL = """
description: Asks a person before it pays a bill.
orchestration:
  entry_team: sign
  context:
    bill:
      type: object
      required: [vendor]
      properties:
        vendor: {type: string}
        lines:
          type: array
          items: {type: object, required: [what], properties: {what: {type: string}}}
  teams:
    sign:
      tasks:
        - name: pay
          type: approval
          prompt: "Pay {{ context.bill.vendor }}?"
          show: "{{ context.bill }}"
          editable: true
          schema:
            type: object
            required: [vendor]
            properties:
              vendor: {type: string}
              price: {type: number, minimum: 0}
              lines:
                type: array
                items: {type: object, required: [what], properties: {what: {type: string}}}
      routing: {default: null}
"""
SCRIPTS = sorted((ROOT / "gateway/console/assets").glob("*.js"))
AXE = HERE / "node_modules/axe-core/axe.min.js"
JUDGE = """async () => (await axe.run(document)).violations
  .map((found) => `${found.id}: ${found.nodes[0].html.slice(0, 120)}`)"""
Scheme = Literal["light", "dark"]


@dataclass
class Console:
    """A gateway with a worker, and a person who has signed in."""

    browser: Browser
    origin: str
    state: Path
    """The cookies of the person."""
    messages: list[str]
    """What the pages complained about, and what they loaded from elsewhere."""

    def context(
        self, scheme: Scheme = "light", width: int = 1280, *, script: bool = True
    ) -> BrowserContext:
        """A window of the person."""
        made = self.browser.new_context(
            color_scheme=scheme,
            viewport={"width": width, "height": 900},
            java_script_enabled=script,
            storage_state=self.state,
            base_url=self.origin,
        )
        patient(made).on("console", lambda message: self.messages.append(message.text))
        made.on("request", lambda request: self._watch(request.url))
        return made

    def page(self, scheme: Scheme = "light", width: int = 1280, *, script: bool = True) -> Page:
        """A page of the person."""
        return self.context(scheme, width, script=script).new_page()

    def _watch(self, url: str) -> None:
        if not url.startswith((self.origin, "data:")):
            self.messages.append(f"loaded {url}")


@pytest.fixture(scope="module")
def console(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder = tmp_path_factory.mktemp("project")
    (folder / "config/teams").mkdir(parents=True)
    (folder / "config/teams/paying.yml").write_text(TEAM)
    (folder / "config/teams/bill.yml").write_text(BILL)
    (folder / "coterie.yml").write_text("worker: {workspace: .}\n")
    coterie = [sys.executable, "-m", "coterie"]
    options = ["--port", str(free_port()), "--no-browser"]
    with started([*coterie, "serve", *options], r"(http://\S+)/open#(\S+)", folder) as found:
        origin, code = found.groups()
        context = patient(browser.new_context())
        page = context.new_page()
        page.goto(f"{origin}/open#{code}")
        expect(page).to_have_url(f"{origin}/inbox")
        state = folder / "state.json"
        context.storage_state(path=state)
        context.close()
        made = Console(browser, origin, state, [])
        for run in ("seen", "other"):
            page = made.page()
            start(page, 5, run)
            expect(page.locator("h1 .pill")).to_have_text("waiting")
            page.context.close()
        yield made
    subprocess.run([*coterie, "server", "--stop"], cwd=folder, check=False, capture_output=True)


def start(page: Page, amount: int, run: str) -> None:
    """Start a run by the form of its team."""
    page.goto("/teams/paying")
    page.get_by_label("amount").fill(str(amount))
    page.get_by_label("Id of the run").fill(run)
    page.get_by_role("button", name="Start").click()
    expect(page).to_have_url(re.compile(rf"/runs/{run}\?done=start$"))


def test_a_person_starts_a_run_decides_it_and_sees_it_go_on(console: Console) -> None:
    page, inbox = console.page(), console.page()
    start(page, 7, "one")
    state = page.locator("h1 .pill")
    expect(state).to_have_text("waiting")
    inbox.goto("/inbox")
    card = inbox.locator(".waiting-card", has_text="Pay 7 EUR?")
    card.get_by_label("Comment").fill("fine")
    card.get_by_role("button", name="Approve").click()
    expect(inbox.get_by_role("status")).to_contain_text("Approved, in your name.")
    expect(state).to_have_text("completed")  # without a reload
    expect(page.locator("#requests")).to_contain_text("fine")


def test_a_decision_needs_no_script_and_no_mouse(console: Console) -> None:
    starting, page = console.page(), console.page(script=False)
    start(starting, 8, "two")
    expect(starting.locator("h1 .pill")).to_have_text("waiting")
    page.goto("/inbox")
    card = page.locator(".waiting-card", has_text="Pay 8 EUR?")
    card.get_by_label("Comment").focus()
    page.keyboard.type("by keyboard")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Approved, in your name.")
    page.goto("/runs/two")
    expect(page.locator("#requests")).to_contain_text("by keyboard")


def test_a_decision_that_comes_too_late_says_so_and_keeps_the_comment(console: Console) -> None:
    start(console.page(), 9, "three")
    first, second = console.page(), console.page()
    for page in (first, second):
        page.goto("/inbox")
        expect(page.locator(".waiting-card", has_text="Pay 9 EUR?")).to_be_visible()
        card = page.locator(".waiting-card", has_text="Pay 9 EUR?")
        card.get_by_label("Comment").fill("my reason")
    for page in (first, second):
        card = page.locator(".waiting-card", has_text="Pay 9 EUR?")
        card.get_by_role("button", name="Reject").click()
    expect(first.get_by_role("status")).to_contain_text("Rejected, in your name.")
    expect(second.get_by_role("heading", level=1)).to_have_text("Nothing was changed")
    expect(second.get_by_label("comment")).to_have_value("my reason")
    console.messages[:] = [m for m in console.messages if "409" not in m]


def judged(page: Page) -> list[str]:
    """What axe finds wrong with a page, also in its folds."""
    page.evaluate("document.querySelectorAll('details').forEach((it) => (it.open = true))")
    page.evaluate(AXE.read_text())
    return page.evaluate(JUDGE)


def start_bill(page: Page, vendor: str, run: str) -> None:
    """Start a run of the team that asks about a bill, by its form."""
    page.goto("/teams/bill")
    page.get_by_role("textbox", name="vendor").fill(vendor)
    page.get_by_role("button", name="Add to lines").click()
    expect(page.get_by_role("textbox", name="what")).to_be_focused()
    page.get_by_role("textbox", name="what").fill("rope")
    page.get_by_label("Id of the run").fill(run)
    page.get_by_role("button", name="Start").click()
    expect(page).to_have_url(re.compile(rf"/runs/{run}\?done=start$"))
    expect(page.locator("h1 .pill")).to_have_text("waiting")


def test_a_request_is_changed_by_its_form_and_a_problem_stands_beside_its_field(
    console: Console,
) -> None:
    page = console.page()
    start_bill(page, "Acme", "bill-1")
    page.goto("/inbox")
    card = page.locator(".waiting-card", has_text="Pay Acme?")
    card.get_by_text("Change what is shown").click()
    card.get_by_label("price").fill("-2")
    card.get_by_label("Comment").fill("cheaper")
    card.get_by_role("button", name="Approve").click()
    expect(page.get_by_label("price")).to_be_focused()
    expect(page.get_by_label("price")).to_have_accessible_description(
        "price is -2, not at least 0."
    )
    page.get_by_label("price").fill("2")
    expect(page.get_by_label("Comment")).to_have_value("cheaper")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_contain_text("Approved, in your name.")
    page.goto("/runs/bill-1")
    expect(page.locator("#requests")).to_contain_text("price: 2 added")
    console.messages[:] = [m for m in console.messages if "422" not in m]


def test_runs_are_cancelled_together_and_a_decision_elsewhere_leaves_the_inbox(
    console: Console,
) -> None:
    page, inbox = console.page(), console.page()
    for number in (2, 3):
        start_bill(page, f"Bolt {number}", f"bill-{number}")
    inbox.goto("/inbox")
    expect(inbox.locator(".waiting-card", has_text="Pay Bolt")).to_have_count(2)
    page.goto("/runs?team=bill&state=open")
    page.get_by_text("Keep this filter").click()
    page.get_by_label("Name").fill("open bills")
    page.get_by_role("button", name="Keep it in this browser").click()
    page.goto("/runs")
    page.get_by_role("link", name="open bills").click()
    for number in (2, 3):
        page.get_by_label(f"Choose bill-{number}").check()
    page.get_by_role("button", name="Cancel…").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Cancel 2 runs?")
    assert judged(page) == []
    page.get_by_label("Why").fill("twice")
    page.get_by_role("button", name="Cancel the marked").click()
    expect(page.locator("h1 .pill")).to_have_text("finished")
    expect(page.locator("main .pill", has_text="done")).to_have_count(2)
    bulk = page.url.removeprefix(console.origin)
    inbox.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # it looks again
    expect(inbox.locator(".waiting-card", has_text="Pay Bolt")).to_have_count(0)
    dark = console.page("dark")
    dark.goto(bulk)
    assert judged(dark) == []


PAGES = (
    "/inbox",
    "/runs",
    "/runs?team=nothing",
    "/runs/seen",
    "/runs/nothing",
    "/teams",
    "/teams/paying",
    "/teams/bill",
    "/runs?contains=bolt&cost_over=0",
    "/steer?run=seen&action=amend",
    "/steer?run=seen&action=skip&task=sign/pay",
    "/compare?run=seen&other=other",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(console: Console, scheme: Scheme) -> None:
    page = console.page(scheme)
    for path in PAGES:
        page.goto(path)
        assert judged(page) == [], path


@pytest.mark.parametrize("width", [360, 1600])
def test_no_page_is_wider_than_the_window(console: Console, width: int) -> None:
    page = console.page(width=width)
    for path in PAGES:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_pages_break_no_policy_and_load_nothing_from_elsewhere(console: Console) -> None:
    unexpected = [message for message in console.messages if "404" not in message]
    assert [message for message in unexpected if "503" not in message] == []


def test_the_page_of_a_run_has_one_connection_and_none_while_hidden(console: Console) -> None:
    page = console.page()
    stream = f"{console.origin}/v1/runs/seen/events"
    opened: list[str] = []
    page.on("request", lambda request: opened.append(request.url))
    with page.expect_event("response", lambda response: response.url == stream):
        page.goto("/runs/seen")
    with page.expect_event("requestfailed", lambda request: request.url == stream):
        page.evaluate(
            "Object.defineProperty(document, 'hidden', { value: true, configurable: true });"
            "document.dispatchEvent(new Event('visibilitychange'))"
        )
    assert opened.count(stream) == 1
    with page.expect_event("response", lambda response: response.url == stream):
        page.evaluate(
            "Object.defineProperty(document, 'hidden', { value: false, configurable: true });"
            "document.dispatchEvent(new Event('visibilitychange'))"
        )


def test_the_scripts_of_the_console_have_sound_types() -> None:
    checker = HERE / "node_modules/typescript/bin/tsc"
    options = (
        "--noEmit --allowJs --checkJs --strict --moduleDetection force --target es2022 "
        "--lib es2022,dom,dom.iterable"
    )
    done = subprocess.run(
        [str(node()), str(checker), *options.split(), *map(str, SCRIPTS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, json.dumps(done.stdout)
