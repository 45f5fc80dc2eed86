"""Commands of a worker that is root run as the owner of the workspace, where files allow it."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coterie.activities.processes import bubblewrap
from coterie.activities.processes.bubblewrap import Bubblewrap, SandboxView, find_bubblewrap
from coterie.activities.processes.command_user import CommandUser, command_user
from coterie.activities.workspace.skill_base import Command, Workspace
from tests.support.skills import call

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
    assert (root / "a/b/text").read_text() == "one\nmore\n", "files of skills belong to the owner"
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
