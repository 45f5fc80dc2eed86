"""A run waits for a sign-in at an MCP server; a person gives it in a browser, and it continues."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import yaml
from playwright.sync_api import Page, expect

from coterie.activities.mcp_client.sign_ins import StoredSignIn
from coterie.settings import load
from coterie.worker.sign_in_files import SignInFile
from tests.doors.conftest import PATIENCE, free_port, server_stopped, started
from tests.support.servers.mcp_oauth import OAuthServer, oauth_server

TEAM = """
orchestration:
  entry_team: work
  teams: { work: { tasks: [{ name: go, type: tool, tool: t, arguments: { a: 1 } }] } }
tools: { t: { mcp: notes/add } }
"""


@contextmanager
def in_a_thread() -> Generator[OAuthServer]:
    """Both servers, in a thread of their own."""
    made: list[OAuthServer] = []
    ready, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        async with oauth_server() as running:
            made.append(running)
            ready.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(PATIENCE)
    try:
        yield made[0]
    finally:
        stop.set()
        thread.join(20)


def coterie(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "coterie", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def prepare(folder: Path, oauth: OAuthServer) -> None:
    """A project that knows the tools of the server, where nobody is signed in."""
    server = {"url": oauth.url, "auth": {"type": "login"}}
    worker = {"workspace": ".", "mcp_servers": {"notes": server}}
    (folder / "coterie.yml").write_text(yaml.safe_dump({"worker": worker}))
    (folder / "team.yml").write_text(TEAM)
    store = SignInFile(load({}, folder), "notes")
    store.write(
        StoredSignIn(
            url=oauth.url,
            token_endpoint=f"{oauth.origin}/token",
            client_id="c",
            access_token="of-ann",
            expires=time.time() + 600,
        )
    )
    oauth.valid.add("of-ann")
    assert "1 tool" in coterie(folder, "tools", "refresh", "notes")
    store.delete()


def test_the_button_of_a_waiting_request_leads_through_the_sign_in_and_back(
    page: Page, tmp_path: Path
) -> None:
    serve = [sys.executable, "-m", "coterie", "serve", "--port", str(free_port()), "--no-browser"]
    with in_a_thread() as oauth, server_stopped(tmp_path):
        prepare(tmp_path, oauth)
        with started(serve, r"(http://\S+)/open#(\S+)", tmp_path) as found:
            origin, code = found.groups()
            coterie(tmp_path, "start", "team.yml", "--id", "noted")
            page.goto(f"{origin}/open#{code}")
            page.wait_for_url(f"{origin}/inbox")
            button = page.get_by_role("link", name="Sign in at notes")
            expect(button).to_be_visible()  # the page looks for news by itself
            button.click()
            expect(page.get_by_text("with your account")).to_be_visible()
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url(f"{origin}/runs/noted?done=signed-in")
            expect(
                page.get_by_text("You are signed in, and the call is made again")
            ).to_be_visible()
            assert "added 1" in coterie(tmp_path, "result", "noted")
            assert [cookie for cookie in page.context.cookies() if "mcp" in str(cookie)] == []
    assert (oauth.calls, oauth.grants) == (["add 1"], ["authorization_code"])
