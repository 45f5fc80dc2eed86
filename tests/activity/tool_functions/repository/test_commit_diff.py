"""The diff of a commit, before it is made: of the same files, and without a trace."""

import os
import subprocess
from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.activities.tool_functions.repository.commit_diff import shown_commit
from coterie.activities.workspace.function_base import Workspace

ENVIRONMENT = {"PATH": os.environ["PATH"]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    git(place, "init", "--quiet", "--initial-branch=main")
    for name, text in (("cart.py", "a = 1\nb = 2\n"), ("old.py", "gone\n"), ("staged", "1\n")):
        (place / name).write_text(text)
    git(place, "add", ".")
    git(place, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "Begin")
    return place


def git(root: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, check=True
    ).stdout


def everything(root: Path) -> dict[Path, bytes]:
    return {one: one.read_bytes() for one in sorted(root.rglob("*")) if one.is_file()}


async def shown(root: Path, *paths: str) -> list[str]:
    given: JsonValue = {"message": "x", "paths": list[JsonValue](paths)}
    return await shown_commit(given, Workspace(root, environment=ENVIRONMENT))


async def test_it_is_that_of_the_named_files_and_the_repository_stays_as_it_is(root: Path) -> None:
    (root / "cart.py").write_text("a = 1\nb = 3\n")
    (root / "old.py").unlink()
    (root / "new file.py").write_text("new\n")
    (root / "empty").write_text("")
    (root / "staged").write_text("2\n")
    git(root, "add", "staged")
    before = everything(root)
    lines = await shown(root, "cart.py", "old.py", "new file.py", "empty")
    assert everything(root) == before
    assert lines == [
        *("modify cart.py", "@@ -1,2 +1,2 @@", " a = 1", "-b = 2", "+b = 3"),
        "create empty",
        *("create new file.py", "@@ -0,0 +1 @@", "+new"),
        *("delete old.py", "@@ -1 +0,0 @@", "-gone"),
    ]


async def test_the_first_commit_of_a_repository_has_a_diff(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a").write_text("1\n")
    assert await shown(tmp_path, ".") == ["create a", "@@ -0,0 +1 @@", "+1"]


async def test_what_the_commit_would_refuse_is_not_shown(root: Path) -> None:
    (root / ".env").write_text("KEY=hidden\n")
    (root / "cart.py").write_text("a = 2\n")
    [line] = await shown(root, ".")
    assert line.startswith("(no diff: this call would fail now: '.env' may contain secrets")
    [line] = await shown(root, "../elsewhere")
    assert line.startswith("(no diff: this call would fail now: the path '../elsewhere'")
    [line] = await shown(root, "old.py")
    assert line == "(no diff: this call would fail now: these files have no changes)"
    [line] = await shown(root)
    assert line == "(no diff: this call would fail now: its input is not valid)"


async def test_no_program_of_the_repository_runs(root: Path) -> None:
    (root / "cart.py").write_text("a = 2\n")
    (root / ".gitattributes").write_text("*.py diff=evil filter=evil\n")
    for key in ("diff.evil.textconv", "diff.evil.command", "filter.evil.clean", "diff.external"):
        git(root, "config", key, f"touch {root / 'ran'};cat")
    await shown(root, "cart.py")
    assert not (root / "ran").exists()
