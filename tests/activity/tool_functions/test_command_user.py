"""Commands of a worker that is root run as the owner of the workspace, where files allow it."""

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from coterie.activities.processes import bubblewrap
from coterie.activities.processes.bubblewrap import Bubblewrap, SandboxView, find_bubblewrap
from coterie.activities.processes.command_user import CommandUser, command_user
from coterie.activities.tool_functions.repository.commit_diff import shown_commit
from coterie.activities.workspace.function_base import Command, Workspace
from coterie.dsl.values import Json
from tests.support.tool_functions import call

PATH = os.environ["PATH"]
NOBODY = 65534
OTHER = CommandUser(os.geteuid() + 1, os.getegid() + 1, "/usr/bin/setpriv")


@pytest.fixture
def root() -> Iterator[Path]:
    """A workspace that any user may enter."""
    with tempfile.TemporaryDirectory(prefix="coterie-owned-") as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        yield folder


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests do not run as root")
async def test_a_command_of_root_runs_as_the_owner_of_the_workspace(root: Path) -> None:
    assert command_user(root, PATH) is None, "root owns it"
    os.chown(root, NOBODY, NOBODY)
    (root / ".env").write_text("hidden")
    (root / ".env").chmod(0o600)
    (root / "of_root").write_text("kept")
    assert command_user(root, "/nowhere") is None, "no `setpriv`"
    sandbox = find_bubblewrap(PATH, command_user(root, PATH))
    if not isinstance(sandbox, Bubblewrap) or sandbox.user is None:
        pytest.skip(f"bubblewrap does not work here for another user: {sandbox}")
    script = "id -u; id -G; cat .env; echo new > made; echo more >> a/b/text; echo x > of_root"
    command = Command("it", ("/bin/sh", "-c", script))
    workspace = Workspace(root, {"it": command}, environment={"PATH": PATH}, sandbox=sandbox)
    await call(workspace, "Files.write", {"path": "a/b/text", "content": "one\n"})
    result = await call(workspace, "CommandRunner.run", {"command": "it"})
    assert isinstance(result, dict)
    assert str(result["output"]).startswith(f"{NOBODY}\n{NOBODY}\n")
    assert "hidden" not in str(result["output"])
    assert (root / "a/b/text").read_text() == "one\nmore\n", (
        "files of tool functions belong to the owner"
    )
    assert (root / "of_root").read_text() == "kept"
    made = [root / name for name in ("made", "a", "a/b", "a/b/text")]
    assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(NOBODY, NOBODY)}


def closed_workspace(root: Path) -> SandboxView:
    (root / "closed").mkdir(0o700)
    (root / "closed" / "work").mkdir()
    return SandboxView(root / "closed" / "work", root / "closed" / "work")


def closed_folder(root: Path) -> SandboxView:
    (root / "installed").mkdir(0o700)
    return SandboxView(root, root, read=(root / "installed",))


def closed_file(root: Path) -> SandboxView:
    (root / "settings").touch(0o600)
    return SandboxView(root, root, read=(root / "settings",))


def closed_protected(root: Path) -> SandboxView:
    (root / "conf").mkdir(0o700)
    (root / "conf" / "teams").touch()
    return SandboxView(root, root, protected=(root / "conf" / "teams",))


def open_with_hidden(root: Path) -> SandboxView:
    (root / ".coterie").mkdir(0o700)
    return SandboxView(root, root, hidden=(root / ".coterie",), read=(root, root / "missing"))


@pytest.mark.parametrize(
    ("made", "is_theirs"),
    [
        (closed_workspace, False),
        (closed_folder, False),
        (closed_file, False),
        (closed_protected, False),
        (open_with_hidden, True),
    ],
)
def test_a_command_changes_its_user_only_where_the_user_reaches_what_it_needs(
    root: Path, made: Callable[[Path], SandboxView], is_theirs: bool
) -> None:
    view = made(root)
    is_theirs = is_theirs and OTHER.may_reach((Path(bubblewrap.__file__),))
    plain = Bubblewrap("/usr/bin/env").wrapped(["make"], view)
    changed = [*OTHER.prefix, *plain] if is_theirs else plain
    assert Bubblewrap("/usr/bin/env", OTHER).wrapped(["make"], view) == changed


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests do not run as root")
async def test_git_of_root_runs_as_the_owner_of_the_workspace(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it writes belongs to the owner, who commits next; the identity stays the worker's."""
    home = root / "home"
    home.mkdir(0o700)
    (home / ".gitconfig").write_text("[user]\nname = Worker\nemail = worker@shop.example\n")
    monkeypatch.setenv("HOME", str(home))
    place = root / "project"
    place.mkdir()
    await (await asyncio.create_subprocess_exec("git", "init", "--quiet", str(place))).wait()
    (place / "a.txt").write_text("one\n")
    for path in (place, *place.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    user = command_user(place, PATH)
    if user is None or not user.may_reach((Path(shutil.which("git") or "/"),)):
        pytest.skip("there is no other user here who reaches git")
    workspace = Workspace(place, environment={"PATH": PATH, "HOME": str(home)})
    assert await shown_commit({"message": "Begin", "paths": ["a.txt"]}, workspace)
    made = await call(workspace, "Git.commit", {"message": "Begin", "paths": ["a.txt"]})
    assert isinstance(made, dict)
    assert {path.stat().st_uid for path in (place / ".git").rglob("*")} == {NOBODY}
    [commit] = cast("list[Json]", cast("Json", await call(workspace, "Git.log", {}))["commits"])
    assert "Worker" in str(commit)


STARTERS = {
    "activities/processes/supervised_process.py": "commands: the sandbox changes the user",
    "activities/processes/short_program.py": "git: the repository says whose it is",
    "activities/processes/bubblewrap.py": "the trial of a sandbox: its command changes the user",
    "activities/processes/supervisor.py": "runs within what is started as above",
    "activities/processes/python_interpreter.py": "looks for a Python; no file of the project",
    "activities/tool_functions/long_calls/long_call.py": "the worker's own code, with its keys",
    "activities/tool_functions/long_calls/job_host.py": "the worker's own code, with its keys",
    "activities/mcp_client/transport/server_transport.py": "the worker's own servers",
    "coterie/worker/watchdog.py": "the worker's own watchdog",
    "coterie/worker/watchdog_process.py": "the worker's own watchdog",
}
"""`{module that starts a process: as whom, and why}`; a new one belongs here."""


def test_every_module_that_starts_a_process_for_a_worker_says_as_whom() -> None:
    starts = re.compile(
        r"create_subprocess_\w+\(|subprocess\.(Popen|run|call|check_\w+)\(|os\.(fork|posix_spawn|exec)"
    )
    top = Path(bubblewrap.__file__).parents[2]
    files = [*(top / "activities").rglob("*.py"), *(top / "coterie" / "worker").rglob("*.py")]
    found = {str(one.relative_to(top)) for one in files if starts.search(one.read_text("utf-8"))}
    assert found == STARTERS.keys()
