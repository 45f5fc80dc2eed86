"""A worker that dies while it applies changes: the next call completes or undoes them."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import JsonValue, TypeAdapter
from temporalio.exceptions import ApplicationError

from coterie.activities.changes.change import Change
from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.asset_manager import apply_set
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionFailure
from tests.support.tool_functions import call, files

BEFORE = {"a.txt": "one\ntwo\n", "c.txt": "c\n", "d.txt": "d\n"}
AFTER = {"a.txt": "one\nTWO\n", "d.txt": "D\n", "new/deep/b.txt": "b\n"}
SET: list[JsonValue] = [
    {"file_path": "a.txt", "type": "modify", "diff": "@@\n one\n-two\n+TWO\n"},
    {"file_path": "new/deep/b.txt", "type": "create", "content": "b\n"},
    {"file_path": "c.txt", "type": "delete"},
    {"file_path": "d.txt", "type": "modify", "content": "D\n"},
]
OTHER: list[JsonValue] = [{"file_path": "e.txt", "type": "create", "content": "e\n"}]


def project(root: Path) -> Path:
    root.mkdir()
    for name, text in BEFORE.items():
        (root / name).write_text(text)
    return root


def apply(root: Path, changes: list[JsonValue], key: str = "the call") -> None:
    apply_set(Workspace(root), TypeAdapter(list[Change]).validate_python(changes), key)


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The project after a crash at each step to the disk, in order."""
    home = tmp_path_factory.mktemp("crashes")
    arguments = [str(project(home / "project")), str(home / "copies"), json.dumps(SET)]
    command = [sys.executable, "-m", "tests.support.changes.dying_writer", *arguments]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [home / "copies" / str(step) for step in range(1, int(said) + 1)]


def copies(crashed: list[Path], home: Path) -> list[Path]:
    return [Path(shutil.copytree(root, home / root.name)) for root in crashed]


def test_the_crashes_meet_every_stage_of_a_set(crashed: list[Path]) -> None:
    found = [files(root) for root in crashed]
    assert found[0] == BEFORE
    assert found[-1] == AFTER
    mixed = [one for one in found if "a.txt" in one and one not in (BEFORE, AFTER)]
    assert len(mixed) > 5


def test_no_crash_tears_a_file(crashed: list[Path]) -> None:
    for root in crashed:
        for path, text in files(root).items():
            if not path.rpartition("/")[2].startswith(".coterie-"):
                assert text in (BEFORE.get(path), AFTER.get(path)), (root.name, path)


@pytest.mark.parametrize("key", ["the call", "another call"])
def test_the_same_set_is_completed_by_the_next_call(
    crashed: list[Path], tmp_path: Path, key: str
) -> None:
    for root in copies(crashed, tmp_path):
        apply(root, SET, key)
        assert files(root) == AFTER, root.name


def test_another_set_first_undoes_what_was_begun(crashed: list[Path], tmp_path: Path) -> None:
    for root in copies(crashed, tmp_path):
        finished = files(root) == AFTER and '"done"' in journals(root)
        apply(root, OTHER)
        expected = AFTER if finished else BEFORE
        assert files(root) == {**expected, "e.txt": "e\n"}, root.name
        assert finished or not (root / "new").exists(), root.name


def test_a_file_that_somebody_changed_since_is_never_written_over(
    crashed: list[Path], tmp_path: Path
) -> None:
    refused = 0
    for root in copies(crashed, tmp_path):
        if '"writing"' not in journals(root):
            continue
        (root / "a.txt").write_text("mine\n")
        for changes in (SET, OTHER):
            with pytest.raises(FunctionFailure, match=r"a\.txt was changed since. Restore it from"):
                apply(root, changes)
        assert (root / "a.txt").read_text() == "mine\n"
        refused += 1
    assert refused > 5


def journals(root: Path) -> str:
    found = (root / ".coterie" / "backups").glob("*/journal.json")
    return "".join(path.read_text() for path in found)


def real(source: str, target: str, handles: dict[str, int]) -> tuple[Path, Path]:
    """Where a file is moved from and to, also relative to an open directory."""
    folder = Path(os.readlink(f"/proc/self/fd/{handles['dst_dir_fd']}")) if handles else Path()
    return folder / source, folder / target


async def test_originals_that_cannot_be_put_back_are_named_and_the_next_call_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path / "project")
    replace = os.replace

    def broken(source: str, target: str, **handles: int) -> None:
        draft, place = real(source, target, handles)
        if place == root / "d.txt" or draft.read_text() == BEFORE["a.txt"]:
            raise OSError(errno.EIO, "Input/output error", str(source))
        replace(source, target, **handles)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", broken)
        with pytest.raises(FunctionFailure, match="originals could not be restored") as caught:
            apply(root, SET)
    assert caught.value.may_pass
    assert '"writing"' in journals(root)
    apply(root, SET)
    assert files(root) == AFTER


@pytest.mark.parametrize("victim", ["a.txt", "new/deep/b.txt", "d.txt"])
async def test_a_file_that_cannot_be_written_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: str
) -> None:
    root = project(tmp_path / "project")
    replace = os.replace

    def full(source: str, target: str, **handles: int) -> None:
        draft, place = real(source, target, handles)
        if place == root / victim and draft.read_text() == AFTER[victim]:
            raise OSError(errno.ENOSPC, "No space left on device", str(source))
        replace(source, target, **handles)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(ApplicationError) as caught:
            await call(Workspace(root), "AssetManager.apply_changes", SET)
    assert caught.value.type == FailureType.FUNCTION_FAILED
    assert not caught.value.non_retryable, "the disk may have space later"
    assert caught.value.message == (
        f"nothing was changed: {victim} cannot be written: "
        "the disk is full (No space left on device)"
    )
    assert files(root) == BEFORE
    assert not (root / "new").exists()
    assert journals(root) == ""
    await call(Workspace(root), "AssetManager.apply_changes", SET)
    assert files(root) == AFTER
