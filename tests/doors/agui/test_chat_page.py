"""The chat page of the examples in a real browser, with its own server before the gateway."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.doors.conftest import free_port, server_stopped, started
from tests.stand_in.install import install, node

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
COTERIE = [sys.executable, "-m", "coterie"]


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of the page, and the folder of its project."""
    try:
        install(HERE)
    except RuntimeError as error:
        pytest.skip(f"NOT RUN: npm could not install the client: {str(error).strip()[-200:]}")
    folder = tmp_path_factory.mktemp("example") / "chat_page"
    shutil.copytree(ROOT / "examples/chat_page", folder)
    (folder / "node_modules").symlink_to(HERE / "node_modules")
    roles = [word for role in ("viewer", "starter", "approver") for word in ("--role", role)]
    create = [*COTERIE, "tokens", "create", "page", *roles]
    made = subprocess.run(create, cwd=folder, capture_output=True, text=True, check=True)
    port = free_port()
    token, gateway = made.stdout.strip(), f"http://127.0.0.1:{port}"
    serve = [*COTERIE, "serve", "--no-browser", "--port", str(port)]
    page = [str(node()), "serve.mjs"]
    with (
        server_stopped(folder),
        started(serve, r"open +http", folder),
        started(
            page, r"open (http\S+)", folder, PORT="0", COTERIE_TOKEN=token, GATEWAY=gateway
        ) as address,
    ):
        yield address[1], folder


def test_the_page_talks_with_a_session_and_a_person_approves_a_note(
    chat: tuple[str, Path], page: Page
) -> None:
    address, folder = chat
    page.goto(address)
    box, log = page.get_by_label("Message"), page.locator("#log")
    box.fill("Is number 7 paid?")
    box.press("Enter")
    expect(log).to_contain_text("Shall I write it down?")
    box.fill("Yes, a note please.")
    box.press("Enter")
    page.get_by_role("button", name="Approve").click()
    expect(log).to_contain_text("assistant: I have written it down.")
    assert (folder / "note.txt").read_text() == "Number 7 is paid."


def test_the_page_resumes_with_the_function_of_the_docs() -> None:
    text = (ROOT / "docs/ag-ui.md").read_text()
    (code,) = re.findall(r"```js\n(// resumable\.js\n.*?)```", text, re.DOTALL)
    assert (ROOT / "examples/chat_page/resumable.js").read_text() == code
    assert len(code.splitlines()) <= 1 + 20, "one may copy it without much reading"
