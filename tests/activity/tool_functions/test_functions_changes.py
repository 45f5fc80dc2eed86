"""Applying changes: all or none, once, with the originals kept."""

import asyncio
import os
import stat
from pathlib import Path

import pytest
from filelock import FileLock
from pydantic import JsonValue, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.asset_manager import ChangeSetResult
from coterie.activities.workspace.function_base import Workspace
from tests.support.tool_functions import call, environment, files, refusal

APPLY = "AssetManager.apply_changes"
PROCESS = "AssetManager.process_action"
MODIFY: JsonValue = {"file_path": "a.txt", "type": "modify", "diff": "@@\n one\n-two\n+TWO\n"}
CREATE: JsonValue = {"file_path": "new/deep/b.txt", "type": "create", "content": "b\n"}
DELETE: JsonValue = {"file_path": "c.txt", "type": "delete"}
BAD: JsonValue = {"file_path": "c.txt", "type": "modify", "diff": "@@\n-nowhere\n+x\n"}
AFTER = {"a.txt": "one\nTWO\n", "new/deep/b.txt": "b\n"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    (root / "c.txt").write_text("c\n")
    return Workspace(root)


async def apply(workspace: Workspace, *changes: JsonValue, key: str = "k") -> ChangeSetResult:
    data = await call(workspace, APPLY, list(changes), key=key)
    return TypeAdapter(ChangeSetResult).validate_python(data)


async def test_a_set_is_applied_and_reported_change_by_change(workspace: Workspace) -> None:
    result = await apply(workspace, MODIFY, CREATE, DELETE)
    assert files(workspace.root) == AFTER
    found = [
        (one.file_path, one.type, one.status, one.added, one.removed) for one in result.applied
    ]
    assert found == [
        ("a.txt", "modify", "applied", 1, 1),
        ("new/deep/b.txt", "create", "applied", 1, 0),
        ("c.txt", "delete", "applied", 0, 1),
    ]


async def test_the_originals_are_kept_in_the_backup(workspace: Workspace) -> None:
    result = await apply(workspace, MODIFY, CREATE, DELETE)
    assert result.backup is not None
    backup = workspace.root / result.backup
    assert backup.is_relative_to(workspace.state_dir)
    assert (backup / "old" / "a.txt").read_text() == "one\ntwo\n"
    assert (backup / "old" / "c.txt").read_text() == "c\n"
    assert not (backup / "old" / "new").exists()
    assert not (backup / "new").exists()


async def test_git_does_not_see_the_state_directory(workspace: Workspace) -> None:
    await apply(workspace, MODIFY)
    assert (workspace.state_dir / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("key", ["k", "another"])
async def test_the_same_set_again_changes_nothing(workspace: Workspace, key: str) -> None:
    first = await apply(workspace, MODIFY, CREATE, DELETE)
    inode = (workspace.root / "a.txt").stat().st_ino
    again = await apply(workspace, MODIFY, CREATE, DELETE, key=key)
    assert {one.status for one in again.applied} == {"already_applied"}
    assert {(one.added, one.removed) for one in again.applied} == {(0, 0)}
    assert (again.backup, again.digest) == (first.backup, first.digest)
    assert files(workspace.root) == AFTER
    assert (workspace.root / "a.txt").stat().st_ino == inode, "the file was not written again"


THERE: list[JsonValue] = [
    {"file_path": "a.txt", "type": "modify", "content": "one\ntwo\n"},
    {"file_path": "a.txt", "type": "create", "content": "one\ntwo\n"},
    {"file_path": "a.txt", "type": "modify", "diff": "@@\n one\n-TWO\n+two\n"},
    {"file_path": "a.txt", "type": "modify", "diff": "old mode 100644\n@@\n one\n-TWO\n+two\n"},
    {"file_path": "none.txt", "type": "delete"},
]


@pytest.mark.parametrize("change", THERE)
async def test_a_change_that_is_there_already_writes_nothing(
    workspace: Workspace, change: JsonValue
) -> None:
    before = files(workspace.root)
    inode = (workspace.root / "a.txt").stat().st_ino
    result = await apply(workspace, change)
    assert [one.status for one in result.applied] == ["already_applied"]
    assert (result.applied[0].added, result.applied[0].removed, result.backup) == (0, 0, None)
    assert not (workspace.state_dir / "backups").exists()
    assert (workspace.root / "a.txt").stat().st_ino == inode
    assert files(workspace.root) == before


async def test_hunks_of_a_change_are_reported_as_applied_or_already_present(
    workspace: Workspace,
) -> None:
    (workspace.root / "a.txt").write_text("one\nTWO\n\nthree\nfour\n")
    diff = "@@\n one\n-two\n+TWO\n@@\n three\n-four\n+FOUR\n"
    change: JsonValue = {"file_path": "a.txt", "type": "modify", "diff": diff}
    first, again = await apply(workspace, change), await apply(workspace, change)
    found = [
        (one.status, one.added, one.hunks_applied, one.hunks_already_present)
        for one in (*first.applied, *again.applied)
    ]
    assert found == [("applied", 1, 1, 1), ("already_applied", 0, 0, 2)]


async def test_the_same_set_is_applied_again_after_it_was_reverted(workspace: Workspace) -> None:
    first = await apply(workspace, MODIFY)
    (workspace.root / "a.txt").write_text("zero\none\ntwo\n")
    second = await apply(workspace, MODIFY)
    assert (workspace.root / "a.txt").read_text() == "zero\none\nTWO\n"
    assert second.backup != first.backup, "the first backup is not overwritten"


async def test_one_change_that_does_not_fit_keeps_all_from_being_applied(
    workspace: Workspace,
) -> None:
    before = files(workspace.root)
    error = await refusal(workspace, APPLY, {"changes": [MODIFY, CREATE, BAD]})
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_FAILED, True)
    assert error.message == (
        "nothing was changed: c.txt: hunk 1 does not fit: the file has no line 'nowhere'"
    )
    assert files(workspace.root) == before
    assert not (workspace.root / "new").exists()


async def test_every_change_that_does_not_fit_is_named(workspace: Workspace) -> None:
    gone: JsonValue = {"file_path": "none.txt", "type": "modify", "content": "x\n"}
    there: JsonValue = {"file_path": "a.txt", "type": "create", "content": "x\n"}
    error = await refusal(workspace, APPLY, [BAD, gone, there])
    for part in ("c.txt: hunk 1", "none.txt: the file to modify", "a.txt: the file to create"):
        assert part in error.message


@pytest.mark.parametrize("path", ["../x.txt", "/x.txt", "out/x.txt", ".git/hooks/x", ".coterie/x"])
async def test_a_change_outside_the_project_is_refused(workspace: Workspace, path: str) -> None:
    (workspace.root / "out").symlink_to(workspace.root.parent)
    before = files(workspace.root.parent)
    change: JsonValue = {"file_path": path, "type": "create", "content": "x\n"}
    error = await refusal(workspace, APPLY, [MODIFY, change])
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_REFUSED, True)
    assert repr(path) in error.message
    assert files(workspace.root.parent) == before


async def test_two_names_of_one_file_are_refused(workspace: Workspace) -> None:
    (workspace.root / "link.txt").symlink_to(workspace.root / "a.txt")
    other: JsonValue = {"file_path": "link.txt", "type": "modify", "content": "x\n"}
    error = await refusal(workspace, APPLY, [MODIFY, other])
    assert "link.txt: a.txt already changes the same file" in error.message


async def test_a_file_changed_through_a_symlink_stays_one(workspace: Workspace) -> None:
    (workspace.root / "link.txt").symlink_to(workspace.root / "a.txt")
    await apply(workspace, {"file_path": "link.txt", "type": "modify", "content": "x\n"})
    assert (workspace.root / "link.txt").is_symlink()
    assert (workspace.root / "a.txt").read_text() == "x\n"


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o644])
async def test_a_modified_file_keeps_its_mode(workspace: Workspace, mode: int) -> None:
    (workspace.root / "a.txt").chmod(mode)
    await apply(workspace, MODIFY)
    assert stat.S_IMODE((workspace.root / "a.txt").stat().st_mode) == mode


async def test_a_diff_may_make_a_file_executable(workspace: Workspace) -> None:
    (workspace.root / "a.txt").chmod(0o640)
    diff = "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n@@\n one\n-two\n+TWO\n"
    await apply(workspace, {"file_path": "a.txt", "type": "modify", "diff": diff})
    assert stat.S_IMODE((workspace.root / "a.txt").stat().st_mode) == 0o750


async def test_a_diff_may_change_nothing_but_the_mode(workspace: Workspace) -> None:
    file = workspace.root / "a.txt"
    file.chmod(0o755)
    diff = "diff --git a/a.txt b/a.txt\nold mode 100755\nnew mode 100644\n@@\n one\n-two\n+two\n"
    change: JsonValue = {"file_path": "a.txt", "type": "modify", "diff": diff}
    for status in ("applied", "already_applied"):
        assert [one.status for one in (await apply(workspace, change)).applied] == [status]
        assert stat.S_IMODE(file.stat().st_mode) == 0o644


async def test_a_new_file_may_be_executable(workspace: Workspace) -> None:
    diff = "new file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+#!/bin/sh\n"
    await apply(workspace, {"file_path": "run", "type": "create", "diff": diff})
    assert os.access(workspace.root / "run", os.X_OK)


async def test_a_file_that_is_no_text_is_not_patched_but_may_be_deleted(
    workspace: Workspace,
) -> None:
    (workspace.root / "a.txt").write_bytes(b"one\n\xff\n")
    error = await refusal(workspace, APPLY, [MODIFY])
    assert "a.txt: the file is not UTF-8 text" in error.message
    await apply(workspace, {"file_path": "a.txt", "type": "delete"})
    assert files(workspace.root) == {"c.txt": "c\n"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"file_path": "dir", "type": "delete"}, "dir: it is a directory"),
        ({"file_path": "c.txt/x", "type": "create", "content": ""}, "c.txt is a file"),
        ({"file_path": "pipe", "type": "modify", "content": ""}, "not a regular file"),
    ],
)
async def test_change_refuses_a_path_that_is_not_a_file(
    workspace: Workspace, change: JsonValue, reason: str
) -> None:
    (workspace.root / "dir").mkdir()
    os.mkfifo(workspace.root / "pipe")
    error = await refusal(workspace, APPLY, [change])
    assert reason in error.message


async def test_one_change_may_be_given_as_loops_give_it(workspace: Workspace) -> None:
    item: JsonValue = {"path": "./a.txt", "action": "Modify", "diff": "@@\n one\n-two\n+TWO\n"}
    first = await call(workspace, PROCESS, item)
    again = await call(workspace, PROCESS, item)
    assert isinstance(first, dict)
    assert isinstance(again, dict)
    assert (first["file_path"], first["status"], first["added"]) == ("a.txt", "applied", 1)
    assert again["status"] == "already_applied"
    assert (workspace.root / "a.txt").read_text() == "one\nTWO\n"


async def test_a_cancelled_call_is_over_only_when_its_files_are_written(
    workspace: Workspace,
) -> None:
    """A thread cannot be stopped; left behind, it would write after the call was reported."""
    at, begun = environment(), asyncio.Event()
    at.on_heartbeat = lambda *_: begun.set()
    workspace.state_dir.mkdir()
    with FileLock(workspace.state_dir / "changes.lock"):
        running = asyncio.ensure_future(call(workspace, APPLY, [MODIFY], at=at))
        await begun.wait()
        await asyncio.sleep(0)  # the thread waits for the lock, or will
        at.cancel()
        await asyncio.wait({running}, timeout=0.05)
        assert not running.done()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (workspace.root / "a.txt").read_text() == "one\nTWO\n"


async def test_without_a_place_for_the_originals_nothing_is_changed(workspace: Workspace) -> None:
    before = files(workspace.root)
    workspace.state_dir.mkdir()
    (workspace.state_dir / "backups").write_text("in the way")
    error = await refusal(workspace, APPLY, [MODIFY])
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_FAILED, False)
    assert error.message == (
        "nothing was changed: the backup of the originals cannot be written: "
        "part of the path is not a directory (Not a directory)"
    )
    assert files(workspace.root) == before


async def test_an_empty_set_is_applied_without_a_backup(workspace: Workspace) -> None:
    result = await apply(workspace)
    assert (result.applied, result.backup) == ([], None)
