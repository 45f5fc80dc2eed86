"""Writing a file: idempotent by content, never over a newer one, never protected."""

import hashlib
from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import Workspace
from tests.support.tool_functions import call, files, refusal


async def write(workspace: Workspace, key: str = "run/a#1/b", **given: JsonValue) -> JsonValue:
    data = await call(workspace, "Files.write", given, key=key)
    assert isinstance(data, dict)
    return data


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def test_a_file_is_created_with_its_folders_then_replaced_with_a_backup(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path)
    made = await write(workspace, path="notes/today.md", content="# Today\n")
    assert isinstance(made, dict)
    assert (made["status"], made["sha256"]) == ("created", digest("# Today\n"))
    replaced = await write(workspace, path="notes/today.md", content="é\n")
    assert isinstance(replaced, dict)
    assert (replaced["status"], replaced["bytes"]) == ("replaced", 3)
    assert files(tmp_path) == {"notes/today.md": "é\n"}
    backup = tmp_path / str(replaced["backup"])
    assert (backup / "old/notes/today.md").read_text() == "# Today\n"


async def test_writing_the_same_content_again_changes_nothing(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    await write(workspace, path="a.txt", content="one")
    before = (tmp_path / "a.txt").stat()
    again = await write(workspace, path="a.txt", content="one")
    other = await write(workspace, key="run/other", path="a.txt", content="one", if_sha256="absent")
    after = (tmp_path / "a.txt").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    for result in (again, other):
        assert isinstance(result, dict)
        assert (result["status"], result["backup"]) == ("unchanged", None)


@pytest.mark.parametrize("known", ["absent", digest("zero")])
async def test_a_file_that_changed_since_it_was_read_is_not_replaced(
    tmp_path: Path, known: str
) -> None:
    (tmp_path / "a.txt").write_text("one")
    given: JsonValue = {"path": "a.txt", "content": "two", "if_sha256": known}
    error = await refusal(Workspace(tmp_path), "Files.write", given)
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_FAILED, True)
    assert f"it has the hash {digest('one')} now; read it again" in error.message
    assert files(tmp_path) == {"a.txt": "one"}


async def test_a_file_that_was_read_is_replaced_and_a_missing_one_is_not(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    (tmp_path / "a.txt").write_text("one")
    await write(workspace, path="a.txt", content="two", if_sha256=digest("one"))
    assert files(tmp_path) == {"a.txt": "two"}
    given: JsonValue = {"path": "b.txt", "content": "two", "if_sha256": digest("one")}
    error = await refusal(workspace, "Files.write", given)
    assert "no file exists now; read it again" in error.message
    assert files(tmp_path) == {"a.txt": "two"}


@pytest.mark.parametrize(
    "path", ["../up.txt", "/tmp/x", ".git/hooks/pre-commit", "coterie.yml", ".env", "sub/.env", "."]
)
async def test_protected_places_are_never_written(tmp_path: Path, path: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    error = await refusal(Workspace(root), "Files.write", {"path": path, "content": "x"})
    assert error.non_retryable
    assert f"{path!r}" in error.message
    assert files(tmp_path) == {}


async def test_a_huge_content_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    given: JsonValue = {"path": "a.txt", "content": "x" * 1_000_001}
    error = await refusal(Workspace(tmp_path), "Files.write", given)
    assert error.type == FailureType.FUNCTION_REFUSED
    assert files(tmp_path) == {}
