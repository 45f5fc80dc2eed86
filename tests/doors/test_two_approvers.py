"""Two people who sign in at a real provider fulfil a quorum; one person cannot, by any way."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Page, expect

from coterie.gateway.identity.program_tokens import create_token
from coterie.signing.key_files import generate, write_key
from coterie.signing.signers import issue
from tests.doors.conftest import (
    CLIENT_SECRET,
    PATIENCE,
    Provider,
    log_in,
    patient,
    server_stopped,
    started,
)
from tests.support.project import BIN

RUN = "pay/1"
REQUEST = "pay/sign#1"
TEAM = """
description: Pays after two people have agreed.
orchestration:
  entry_team: pay
  teams:
    pay:
      tasks:
        - {name: sign, type: approval, prompt: "Pay 120 EUR?", show: {amount: 120}, quorum: 2,
           approvers: [ann@example.com, ben@example.com, carl@example.com]}
      routing: {rules: [{condition: all_success, next_team: paid}], default: null}
    paid: {tasks: [{name: say, type: set, values: {paid: true}}]}
"""
CONFIGURATION = """\
worker:
  workspace: .
  decisions: {{signed: required, root: {root}}}
access:
  public_url: {provider.gateway}
  oidc:
    issuer: {provider.issuer}
    client_id: coterie
    client_secret_env: CLIENT_SECRET
    scopes: [openid, email, profile, groups]
  grants:
    - {{ groups: ["*"], roles: [viewer, starter] }}
    - {{ groups: [leads], roles: [approver] }}
"""


@dataclass
class Desk:
    """A gateway with a key, people, and a project whose runs take signed decisions alone."""

    browser: Browser
    origin: str
    folder: Path
    root: str
    """The public root key."""
    temporal: str
    """The address of the server."""

    def sign_in(self, name: str, to: str = "/inbox") -> Page:
        """A page in a browser of its own, whose person has signed in."""
        page = patient(self.browser.new_context(base_url=self.origin)).new_page()
        log_in(page, self.origin, name, to)
        return page

    def send_decision(self, digest: str, token: str) -> str:
        """What the API answers to an approval by a program."""
        body = {"request": REQUEST, "decision": "approve", "digest": digest}
        request = Request(
            f"{self.origin}/v1/runs/{RUN.replace('/', '%2F')}/decisions",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        try:
            with urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["verdict"]
        except HTTPError as refused:
            with closing(refused):
                return json.load(refused)["message"]


def run(program: list[str], folder: Path) -> str:
    """What a program prints."""
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def desk(browser: Browser, provider: Provider, tmp_path: Path) -> Iterator[Desk]:
    root = generate("root")
    key = issue(root, "gateway", "desk", life=timedelta(hours=1), now=datetime.now(UTC))
    write_key(tmp_path / "desk.key", key)
    (tmp_path / "config/teams").mkdir(parents=True)
    (tmp_path / "config/teams/pay.yml").write_text(TEAM)
    settings = CONFIGURATION.format(root=root.public, provider=provider)
    (tmp_path / "coterie.yml").write_text(settings)
    serve = [sys.executable, "-m", "coterie", "serve", "--no-browser", "--key", "desk.key"]
    serve += ["--port", str(provider.gateway_port)]
    ready = r"Temporal +(\S+)\n[\s\S]*open +http"
    with (
        server_stopped(tmp_path),
        started(serve, ready, tmp_path, CLIENT_SECRET=CLIENT_SECRET) as found,
    ):
        yield Desk(browser, provider.gateway, tmp_path, root.public, found[1])


def approve(page: Page) -> None:
    page.locator(".waiting-card").get_by_role("button", name="Approve").click()


def until(page: Page, path: str, is_there: Callable[[], bool]) -> None:
    """Load a page again until it shows something."""
    for _ in range(240):
        page.goto(path)
        if is_there():
            return
        page.wait_for_timeout(250)
    pytest.fail(page.locator("main").inner_text())


def test_two_signed_in_people_fulfil_a_quorum_and_one_cannot(desk: Desk, tmp_path: Path) -> None:
    file, life = desk.folder / ".coterie/tokens.json", 600
    token = {
        name: create_token(file, name, ["approver"], ["*"], time.time(), life)
        for name in ("ann", "ann.second")
    }
    ann = desk.sign_in("ann", "/teams/pay")
    ann.get_by_label("Id of the run").fill(RUN)
    ann.get_by_role("button", name="Start").click()
    until(ann, "/inbox", lambda: ann.locator(".waiting-card button").count() > 0)
    tab = ann.context.new_page()
    tab.goto("/inbox")  # it will be older than her decision
    digest = ann.locator(".waiting-card .digest").inner_text()
    approve(ann)
    expect(ann.get_by_role("status")).to_contain_text("Approved, in your name.")
    card = ann.locator(".waiting-card")
    expect(card).to_contain_text("1 of 2 people (ann@example.com)")
    expect(card.get_by_role("button")).to_have_count(0)

    approve(tab)
    expect(tab.locator("main")).to_contain_text("ann@example.com has already approved")
    elsewhere = desk.sign_in("ann")
    expect(elsewhere.locator(".waiting-card")).to_contain_text("1 of 2 people")
    expect(elsewhere.locator(".waiting-card").get_by_role("button")).to_have_count(0)
    sent = elsewhere.evaluate(
        """async (pick) => (await fetch("/decide", {method: "POST",
          body: new URLSearchParams({pick: JSON.stringify(pick), decision: "approve"})})).text()""",
        {"run": RUN, "request": REQUEST, "digest": digest},
    )
    assert "ann@example.com has already approved" in sent
    for name in token:
        refused = desk.send_decision(digest, token[name])
        assert f"'token {name}' may not decide" in refused
    carl = desk.sign_in("carl")
    expect(carl.locator(".waiting-card").get_by_role("button")).to_have_count(0)

    ben = desk.sign_in("ben")
    expect(ben.locator(".waiting-card")).to_contain_text("1 of 2 people (ann@example.com)")
    approve(ben)
    expect(ben.get_by_role("status")).to_contain_text("Approved, in your name.")
    page = f"/runs/{RUN.replace('/', '%2F')}"
    until(ben, page, lambda: ben.locator("h1 .pill").inner_text() == "completed")
    expect(ben.locator("#requests")).to_contain_text("ann@example.com, ben@example.com")
    prove(desk, tmp_path)


def prove(desk: Desk, folder: Path) -> None:
    """The history in a file names both people, without the server and the project."""
    show = [str(BIN / "temporal"), "workflow", "show", "--address", desk.temporal, "-w", RUN]
    exported = run([*show, "-o", "json"], folder)
    alone = folder / "alone"
    alone.mkdir()
    (alone / "history.json").write_text(exported)
    with server_stopped(desk.folder):
        pass
    verify = [sys.executable, "-m", "coterie", "verify", "history.json", "--root", desk.root]
    proved = run(verify, alone)
    assert f"approved {REQUEST}: ann@example.com by oidc at " in proved
    assert ", ben@example.com by oidc at " in proved
