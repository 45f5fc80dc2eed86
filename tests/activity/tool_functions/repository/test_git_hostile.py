"""A repository from anywhere runs no program, and shows no other repository."""

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import Workspace
from tests.activity.tool_functions.repository.test_git_functions import Git, git_in
from tests.support.tool_functions import call, refusal

Trap = Callable[[Git, Path, str], None]


def _monitor(git: Git, root: Path, program: str) -> None:
    git("config", "core.fsmonitor", program)


def _hooks(git: Git, root: Path, program: str) -> None:
    for name in ("pre-commit", "post-commit", "reference-transaction", "post-index-change"):
        hook = root / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\n{program}\n")
        hook.chmod(0o755)


def _filter(git: Git, root: Path, program: str) -> None:
    git("config", "filter.trap.clean", f"{program}; cat")
    git("config", "filter.trap.required", "true")
    (root / ".gitattributes").write_text("*.txt filter=trap\n")


def _filter_with_a_strange_name(git: Git, root: Path, program: str) -> None:
    git("config", "filter.a=b.clean", f"{program}; cat")
    (root / ".gitattributes").write_text("*.txt filter=a=b\n")


def _process_filter(git: Git, root: Path, program: str) -> None:
    git("config", "filter.trap.process", program)
    (root / ".gitattributes").write_text("*.txt filter=trap\n")


def _converter(git: Git, root: Path, program: str) -> None:
    git("config", "diff.trap.textconv", f"{program}; cat")
    (root / ".gitattributes").write_text("*.txt diff=trap\n")


def _diff_command(git: Git, root: Path, program: str) -> None:
    git("config", "diff.trap.command", program)
    (root / ".gitattributes").write_text("*.txt diff=trap\n")


def _external_diff(git: Git, root: Path, program: str) -> None:
    git("config", "diff.external", program)


def _included(git: Git, root: Path, program: str) -> None:
    (root / ".git/more").write_text(f'[core]\nfsmonitor = "{program}"\n[diff]\nexternal = x\n')
    git("config", "include.path", "more")


def _signatures(git: Git, root: Path, program: str) -> None:
    git("config", "commit.gpgSign", "true")
    git("config", "gpg.program", program)


def _submodule(git: Git, root: Path, program: str) -> None:
    inner = root / "inner"
    inner.mkdir()
    within = git_in(inner)
    within("commit", "--quiet", "--allow-empty", "-m", "Inner")
    within("config", "core.fsmonitor", program)
    (inner / "x.txt").write_text("x\n")
    git("-c", "advice.addEmbeddedRepo=false", "add", "inner")
    git("commit", "--quiet", "-m", "Submodule")


TRAPS: dict[str, Trap] = {
    "fsmonitor": _monitor,
    "hooks": _hooks,
    "filter": _filter,
    "filter with a strange name": _filter_with_a_strange_name,
    "process filter": _process_filter,
    "textconv": _converter,
    "diff command": _diff_command,
    "external diff": _external_diff,
    "included": _included,
    "signatures": _signatures,
    "submodule": _submodule,
}

CALLS: list[tuple[str, JsonValue]] = [
    ("Git.status", None),
    ("Git.diff", None),
    ("Git.diff", {"base": "HEAD"}),
    ("Git.log", None),
    ("Git.commit", {"message": "Change", "paths": ["other.py"]}),
    ("Git.commit", {"message": "Change", "paths": ["."]}),
    ("Git.status", None),
]


def _try(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)


@pytest.mark.parametrize("name", TRAPS)
async def test_a_hostile_repository_runs_no_program(name: str, tmp_path: Path) -> None:
    root, marker = tmp_path / "project", tmp_path / "ran"
    root.mkdir()
    git = git_in(root)
    (root / "a.txt").write_text("one\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "Begin")
    program = tmp_path / "trap.sh"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    TRAPS[name](git, root, str(program))
    (root / "a.txt").write_text("two\n")
    (root / "other.py").write_text("x = 1\n")
    marker.unlink(missing_ok=True)
    for function, wanted in CALLS:
        with suppress(ApplicationError):  # also a refusal is safe
            await call(Workspace(root), function, wanted)
        assert not marker.exists(), f"{function} ran a program of the repository"
    (root / "a.txt").write_text("three\n")  # the trap is real: plain git runs it
    for arguments in (["status"], ["diff"], ["add", "--all"], ["commit", "-m", "x"]):
        _try(root, *arguments)
    assert marker.exists()


async def test_a_file_behind_a_filter_is_not_committed_unfiltered(tmp_path: Path) -> None:
    git = git_in(tmp_path)
    git("config", "filter.lfs.clean", "git-lfs clean -- %f")
    git("config", "filter.lfs.required", "true")
    (tmp_path / ".gitattributes").write_text("*.bin filter=lfs\n")
    (tmp_path / "big.bin").write_text("large\n")
    wanted: JsonValue = {"message": "x", "paths": ["big.bin", ".gitattributes"]}
    error = await refusal(Workspace(tmp_path), "Git.commit", wanted)
    assert "'big.bin' passes through the git filter 'lfs'" in error.message
    assert error.type == FailureType.FUNCTION_REFUSED


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    place = tmp_path / "secret"
    place.mkdir()
    git = git_in(place)
    (place / "plan.txt").write_text("hidden\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "A hidden plan")
    return place


def _by_file(root: Path, secret: Path) -> None:
    (root / ".git").write_text(f"gitdir: {secret}/.git\n")


def _by_link(root: Path, secret: Path) -> None:
    (root / ".git").symlink_to(secret / ".git")


def _by_common_folder(root: Path, secret: Path) -> None:
    git_in(root)
    (root / ".git/commondir").write_text(f"{secret}/.git\n")


def _by_linked_parts(root: Path, secret: Path) -> None:
    git_in(root)
    for part in ("objects", "refs"):
        subprocess.run(["rm", "-r", root / ".git" / part], check=True)
        (root / ".git" / part).symlink_to(secret / ".git" / part)


@pytest.mark.parametrize("lead", [_by_file, _by_link, _by_common_folder, _by_linked_parts])
async def test_a_repository_elsewhere_is_not_read(
    lead: Callable[[Path, Path], None], tmp_path: Path, secret: Path
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    lead(root, secret)
    for function in ("Git.log", "Git.status", "Git.diff"):
        error = await refusal(Workspace(root), function)
        assert error.type == FailureType.FUNCTION_REFUSED


async def test_a_working_tree_elsewhere_is_not_read(tmp_path: Path, secret: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    git_in(root)("config", "core.worktree", str(secret))
    (root / "mine.txt").write_text("m\n")
    found = await call(Workspace(root), "Git.status")
    assert "plan.txt" not in str(found)
    assert "mine.txt" in str(found)


@pytest.mark.parametrize("content", [b"gitdir: ", b"no git at all"])
async def test_a_file_in_place_of_the_repository_is_not_read_to_its_end(
    content: bytes, tmp_path: Path
) -> None:
    file = tmp_path / ".git"
    file.write_bytes(content)
    os.truncate(file, 2**40)  # a terabyte, of which the disk holds nothing
    error = await refusal(Workspace(tmp_path), "Git.status")
    assert "the workspace's .git file is not valid" in error.message
