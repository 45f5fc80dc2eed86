"""What is kept of a set of changes before it is written: whole, in a place of its own, by one."""

import errno
import os
from pathlib import Path

import pytest
from filelock import FileLock

from coterie.activities.changes import journal
from coterie.activities.changes.file_edits import Edit
from coterie.activities.changes.journal import Backup, backups, begin, locked
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionFailure


def edit(root: Path, name: str, before: str | None, after: str) -> Edit:
    path = root / name
    if before is not None:
        path.write_text(before)
    old = None if before is None else before.encode()
    return Edit(name, path, "modify" if before else "create", old, after.encode())


def begun(root: Path, key: str = "key") -> Backup:
    return begin(Workspace(root), [edit(root, "a.txt", "one", "two")], (), "d" * 64, key)


def test_a_second_call_waits_for_the_first_and_gives_up_with_what_may_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "LOCK_WAIT", 0.01)
    workspace = Workspace(tmp_path)
    with locked(workspace):
        with pytest.raises(FunctionFailure) as failed, locked(workspace):
            raise AssertionError("two at once")
        text = "another call has been changing files of the project for 0.01 s"
        assert (str(failed.value), failed.value.may_pass) == (text, True)
    with locked(workspace):
        assert (workspace.state_dir / ".gitignore").read_text() == "*\n"
        other = FileLock(workspace.state_dir / "changes.lock", timeout=0)
        with pytest.raises(TimeoutError):
            other.acquire()


def test_a_journal_keeps_the_originals_and_what_comes_in_their_place(tmp_path: Path) -> None:
    edits = [edit(tmp_path, "a.txt", "one", "two"), edit(tmp_path, "new/b.txt", None, "b")]
    made = begin(Workspace(tmp_path), edits, (), "d" * 64, "key")
    [kept] = backups(Workspace(tmp_path))
    assert kept == made
    assert (kept.journal.state, kept.journal.made) == ("writing", ("new",))
    changed, created = kept.journal.files
    assert (kept.old(changed).read_text(), kept.new(changed).read_text()) == ("one", "two")
    assert (kept.old(created).exists(), kept.new(created).read_text()) == (False, "b")


def test_a_journal_that_cannot_be_written_leaves_no_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            begun(tmp_path)
    assert list((tmp_path / ".coterie" / "backups").iterdir()) == []


def test_each_set_of_changes_has_a_backup_of_its_own(tmp_path: Path) -> None:
    first, second, third = begun(tmp_path), begun(tmp_path), begun(tmp_path)
    other = begun(tmp_path, "another call")
    name = first.directory.name
    assert [one.directory.name for one in (second, third)] == [f"{name}.2", f"{name}.3"]
    assert not other.directory.name.startswith(name)
    assert len(backups(Workspace(tmp_path))) == 4


def test_a_full_folder_of_backups_is_an_error_and_overwrites_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "MAX_BACKUPS", 2)
    kept = [begun(tmp_path), begun(tmp_path)]
    with pytest.raises(
        FileExistsError, match=f"has no free name for a backup {kept[0].directory.name}"
    ):
        begun(tmp_path)
    assert backups(Workspace(tmp_path)) == kept


def test_a_plain_file_among_the_backups_is_passed_over_and_stays(tmp_path: Path) -> None:
    kept = begun(tmp_path)
    stray = kept.directory.parent / ".DS_Store"
    stray.write_text("not ours")
    assert backups(Workspace(tmp_path)) == [kept]
    assert stray.read_text() == "not ours"


@pytest.mark.parametrize("damaged", [b"", b'{"version": 1, "dig', b"\xff\xfe", b'{"version": 2}'])
def test_a_damaged_journal_is_an_error_that_says_what_to_do(tmp_path: Path, damaged: bytes) -> None:
    kept = begun(tmp_path)
    (kept.directory / "journal.json").write_bytes(damaged)
    with pytest.raises(FunctionFailure, match=r"journal\.json is damaged") as failed:
        backups(Workspace(tmp_path))
    assert f"then delete {kept.directory}" in str(failed.value)
    assert not failed.value.may_pass
    assert (kept.directory / "old").is_dir()
