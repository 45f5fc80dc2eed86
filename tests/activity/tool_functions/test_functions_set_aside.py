"""What a command puts where the worker would trust it counts for nothing."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from coterie.activities.contracts import FailureType
from coterie.activities.processes.bubblewrap import Bubblewrap, find_bubblewrap
from coterie.activities.processes.search_path import path_outside
from coterie.activities.workspace.function_base import Command, Workspace
from coterie.activities.workspace.trusted_entries import set_aside, trusted_entries
from tests.support.tool_functions import call, refusal

SANDBOX = find_bubblewrap(os.environ["PATH"])
sandboxed = pytest.mark.skipif(
    not isinstance(SANDBOX, Bubblewrap), reason=f"bubblewrap does not work here: {SANDBOX}"
)
PLACED = {
    "a configuration": ("echo evil > coterie.yml", "coterie.yml"),
    "a team": ("mkdir -p config/teams; echo evil > config/teams/new.yml", "config/teams"),
    "a link to one": ("ln -s src/app.yml coterie.yml", "coterie.yml"),
    "another file for a link": (
        "rm coterie.tools.json; echo evil > coterie.tools.json",
        "tools.json",
    ),
    "another link": ("ln -sfn src/app.yml coterie.tools.json", "coterie.tools.json"),
    "a hook": ("mkdir .git/hooks; echo evil > .git/hooks/pre-commit", ".git/hooks"),
    "another repository": ("echo ../evil > .git/commondir", ".git/commondir"),
    "settings of a worktree": ("echo evil > .git/config.worktree", ".git/config.worktree"),
    "and fails": ("echo evil > coterie.yml; exit 3", "coterie.yml"),
    "and takes too long": ("echo evil > coterie.yml; sleep 60", "coterie.yml"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in (".git/config", "conf/tools.json", "src/app.yml"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("as before")
    (root / "coterie.tools.json").symlink_to("conf/tools.json")
    return root


def at(root: Path, command: Command) -> Workspace:
    assert isinstance(SANDBOX, Bubblewrap)
    names = ("coterie.yml", "coterie.tools.json", "config/teams", "conf/tools.json")
    return Workspace(
        root,
        {"it": command},
        environment=dict(os.environ),
        protected=tuple(root / name for name in names),
        sandbox=SANDBOX,
    )


@sandboxed
@pytest.mark.parametrize(("script", "named"), PLACED.values(), ids=PLACED)
async def test_a_command_cannot_put_a_file_where_the_worker_trusts_one(
    root: Path, script: str, named: str
) -> None:
    timeout = 1 if "sleep" in script else 60
    workspace = at(root, Command("it", ("sh", "-c", script), timeout=timeout))
    error = await refusal(workspace, "CommandRunner.run", {"command": "it"})
    assert error.type == FailureType.FUNCTION_FAILED
    assert f"{named}, which the worker trusts" in error.message
    assert os.listdir(root / ".git") == ["config"]
    assert (root / "coterie.tools.json").readlink() == Path("conf/tools.json")
    assert (root / "conf" / "tools.json").read_text() == "as before"
    assert not (root / "coterie.yml").is_symlink()
    assert not (root / "coterie.yml").exists()
    assert not (root / "config" / "teams").exists()
    kept = list((root / ".coterie" / "set-aside").iterdir())
    assert len(kept) == 1


@sandboxed
async def test_a_file_that_names_a_repository_elsewhere_is_read_only(root: Path) -> None:
    (root / ".git" / "config").unlink()
    (root / ".git").rmdir()
    (root / ".git").write_text("gitdir: /elsewhere")
    script = "echo evil > .git || mv .git moved || rm .git"
    workspace = at(root, Command("it", ("sh", "-c", script)))
    result = await call(workspace, "CommandRunner.run", {"command": "it"})
    assert isinstance(result, dict)
    assert result["passed"] is False
    assert (root / ".git").read_text() == "gitdir: /elsewhere"


@sandboxed
async def test_a_command_puts_no_compiled_code_beside_a_trusted_module(root: Path) -> None:
    (root / "helpers").mkdir()
    (root / "helpers" / "agents.py").touch()
    script = "echo evil > helpers/__pycache__/agents.cpython-311.pyc || mv helpers other"
    workspace = at(root, Command("it", ("sh", "-c", script)))
    protected = (root / "helpers" / "agents.py", root / "helpers" / "__pycache__")
    result = await call(
        replace(workspace, protected=protected), "CommandRunner.run", {"command": "it"}
    )
    assert isinstance(result, dict)
    assert result["passed"] is False
    assert os.listdir(root / "helpers" / "__pycache__") == []


@sandboxed
async def test_git_is_never_a_program_of_the_workspace(root: Path) -> None:
    trap = root / ".venv" / "bin" / "git"
    trap.parent.mkdir(parents=True)
    trap.write_text(f"#!/bin/sh\ntouch {root}/ran\n")
    trap.chmod(0o755)
    path = os.pathsep.join((str(trap.parent), ".venv/bin", os.environ["PATH"]))
    workspace = replace(at(root, Command("it", ("true",))), environment={"PATH": path})
    await refusal(workspace, "Git.status", {})
    assert not (root / "ran").exists()


def test_a_path_outside_a_project_has_no_folder_of_it_however_it_is_written(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "bin").mkdir(parents=True)
    (tmp_path / "linked").symlink_to(root / "bin")
    inside = (f"{root}/bin", str(root), "bin", ".", "", f"{tmp_path}/linked", f"{root}/x/../bin")
    for place in inside:
        assert path_outside(os.pathsep.join((place, "/usr/bin")), root) == "/usr/bin", place
    assert path_outside(f"{root}/bin", root) == os.defpath
    (tmp_path / "other").symlink_to(root)
    assert path_outside(f"{root}/bin:/usr/bin", tmp_path / "other") == "/usr/bin"


def test_nothing_outside_is_moved_through_a_link_that_a_command_made(tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    root.mkdir()
    (outside / "teams").mkdir(parents=True)
    before = trusted_entries(root, (root / "config" / "teams",))
    (root / "config").symlink_to(outside)
    assert set_aside(before, root / "aside") == ()
    assert (outside / "teams").is_dir()
