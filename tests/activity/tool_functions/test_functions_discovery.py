"""Collecting a project: what git would see, in order, and every gap named."""

import hashlib
import os
from pathlib import Path

import pytest
from pydantic import JsonValue, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.discovery import DiscoveryResult
from coterie.activities.workspace.function_base import Workspace
from tests.support.tool_functions import call, refusal


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "project"
    texts = {
        "README.md": "# Shop\n",
        "src/cart.py": "a = 1\nb = 2",
        "src/money.py": "",
        "src/a-b/x.py": "x\n",
        "src/a/y.py": "y\n",
        ".git/config": "[core]\n",
        "src/sub/.git": "gitdir: elsewhere\n",
        ".coterie/server.db": "db\n",
    }
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return Workspace(root)


async def collect(workspace: Workspace, **wanted: JsonValue) -> DiscoveryResult:
    data = await call(workspace, "Discovery.collect", wanted or None)
    return TypeAdapter(DiscoveryResult).validate_python(data)


def paths(result: DiscoveryResult) -> list[str]:
    return [file.path for file in result.files]


async def test_all_files_are_collected_in_order_but_not_gits_and_the_workers_own(
    workspace: Workspace,
) -> None:
    result = await collect(workspace)
    assert paths(result) == [
        "README.md",
        "src/a-b/x.py",
        "src/a/y.py",
        "src/cart.py",
        "src/money.py",
    ]
    assert (result.complete, result.left_out, result.root) == (True, [], ".")
    assert result == await collect(workspace)


async def test_discovery_estimates_the_tokens_of_what_it_collects(workspace: Workspace) -> None:
    result = await collect(workspace, include=["src/cart.py"])
    assert (result.included_bytes, result.estimated_tokens) == (11, 3)


async def test_a_file_tells_its_size_lines_digest_and_content(workspace: Workspace) -> None:
    cart = next(file for file in (await collect(workspace)).files if file.path == "src/cart.py")
    assert (cart.bytes, cart.lines, cart.content) == (11, 2, "a = 1\nb = 2")
    assert cart.sha256 == hashlib.sha256(b"a = 1\nb = 2").hexdigest()


async def test_the_manifest_names_every_file(workspace: Workspace) -> None:
    (workspace.root / "logo.png").write_bytes(b"\x89PNG\0")
    result = await collect(workspace, max_bytes=10)
    assert result.manifest.splitlines() == [
        "README.md: 1 lines, 7 bytes",
        "logo.png: binary, 5 bytes",
        "src/a-b/x.py: 1 lines, 2 bytes",
        "src/a/y.py: 2 bytes, left out: over the budget: 1 of max_bytes (10) were left",
        "src/cart.py: 11 bytes, left out: over the budget: 1 of max_bytes (10) were left",
        "src/money.py: 0 lines, 0 bytes",
    ]


async def test_the_budget_leaves_nothing_out_silently(workspace: Workspace) -> None:
    result = await collect(workspace, max_bytes=12, max_file_bytes=9)
    assert paths(result) == ["README.md", "src/a-b/x.py", "src/a/y.py", "src/money.py"]
    assert result.included_bytes == 11
    [gap] = result.left_out
    assert (gap.path, gap.bytes, gap.why) == ("src/cart.py", 11, "larger than max_file_bytes (9)")
    assert not result.complete


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"include": ["*.md"]}, ["README.md"]),
        ({"include": ["src/*.py"]}, ["src/cart.py", "src/money.py"]),
        ({"include": ["src/**/?.py"]}, ["src/a-b/x.py", "src/a/y.py"]),
        ({"exclude": ["src/"]}, ["README.md"]),
        ({"include": ["src/"], "exclude": ["a*/"]}, ["src/cart.py", "src/money.py"]),
        ({"exclude": ["*.py"]}, ["README.md"]),
        ({"path": "src/a"}, ["src/a/y.py"]),
        ({"path": "src/cart.py"}, ["src/cart.py"]),
    ],
)
async def test_globs_choose_as_in_a_gitignore(
    workspace: Workspace, wanted: dict[str, JsonValue], expected: list[str]
) -> None:
    assert paths(await collect(workspace, **wanted)) == expected


async def test_ignored_files_are_as_for_git(workspace: Workspace) -> None:
    root = workspace.root
    (root / ".gitignore").write_text("*.log\nbuild/\n/only-top\n[\n")
    (root / "src" / ".gitignore").write_text("!keep.log\ncart.py\n")
    for path in ("x.log", "src/y.log", "src/keep.log", "build/out", "src/build/out", "only-top"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text("x")
    (root / "src" / "a" / "only-top").write_text("x")
    ignored = {"x.log", "src/y.log", "build/out", "src/build/out", "only-top", "src/cart.py"}
    everything = await collect(workspace)
    assert not ignored & set(paths(everything))
    assert {"src/keep.log", "src/a/only-top", ".gitignore"} <= set(paths(everything))
    part = await collect(workspace, path="src")
    assert set(paths(part)) == {path for path in paths(everything) if path.startswith("src/")}


async def test_binary_files_are_named_without_content(workspace: Workspace) -> None:
    (workspace.root / "nul.bin").write_bytes(b"a\0b")
    (workspace.root / "latin.txt").write_bytes(b"\xe9t\xe9\n")
    found = {file.path: file for file in (await collect(workspace)).files}
    assert (found["nul.bin"].content, found["nul.bin"].bytes) == (None, 3)
    assert (found["latin.txt"].content, found["latin.txt"].lines) == (None, 0)


async def test_symlinks_are_named_and_not_followed(workspace: Workspace) -> None:
    root = workspace.root
    (root.parent / "secret.txt").write_text("secret")
    (root / "out").symlink_to(root.parent / "secret.txt")
    (root / "up").symlink_to(root.parent)
    (root / "in").symlink_to("src/cart.py")
    os.mkfifo(root / "pipe")
    result = await collect(workspace)
    assert {file.path: file.why for file in result.left_out} == {
        "in": "a symlink to src/cart.py, not followed",
        "out": "a symlink to a place outside the project, not followed",
        "pipe": "not a regular file",
        "up": "a symlink to a place outside the project, not followed",
    }
    assert "secret" not in result.model_dump_json()
    assert result.complete, "a symlink is no file of the project"


@pytest.mark.parametrize("path", ["..", "/", "up", ".git", ".coterie"])
async def test_nothing_outside_the_project_is_collected(workspace: Workspace, path: str) -> None:
    (workspace.root / "up").symlink_to(workspace.root.parent)
    error = await refusal(workspace, "Discovery.collect", {"path": path})
    assert error.type == FailureType.FUNCTION_REFUSED


async def test_a_path_that_is_not_there_is_named(workspace: Workspace) -> None:
    error = await refusal(workspace, "Discovery.collect", {"path": "source"})
    assert error.type == FailureType.FUNCTION_FAILED
    assert error.message == "nothing exists at 'source' in the project"


async def test_a_malformed_glob_is_refused(workspace: Workspace) -> None:
    error = await refusal(workspace, "Discovery.collect", {"include": ["*.py", "!"]})
    assert error.type == FailureType.FUNCTION_REFUSED
    assert "include has a malformed glob, '!'" in error.message
