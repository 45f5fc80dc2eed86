"""Files below a folder: what a change leaves there, who may use it, and that nothing stays open."""

import os
import stat
from pathlib import Path

import pytest

from coterie.activities.workspace.project_files import (
    NotRegular,
    private_folder,
    read_file,
    remove_directory,
    remove_file,
    replace_file,
    status_of,
    write_private,
)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_files() -> set[str]:
    return {file.name for file in Path("/proc/self/fd").iterdir()}


def test_a_file_is_created_with_its_folders_and_no_draft_is_left(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    replace_file(tmp_path, "a/b/c.txt", b"new", "draft")
    assert (tmp_path / "a" / "b" / "c.txt").read_bytes() == b"new"
    assert os.listdir(tmp_path / "a" / "b") == ["c.txt"]


def test_a_draft_that_a_killed_worker_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "draft").write_bytes(b"half of a much longer content")
    replace_file(tmp_path, "a.txt", b"new", "draft")
    assert (tmp_path / "a.txt").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_file_that_cannot_be_replaced_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path, "folder", b"new", "draft")
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize(
    ("mode", "executable", "bits"),
    [
        (None, None, 0o640),
        (None, True, 0o750),
        (None, False, 0o640),
        (0o604, None, 0o604),
        (0o604, True, 0o705),
        (0o200, True, 0o200),
        (0o775, True, 0o775),
        (0o775, False, 0o664),
        (0o775, None, 0o775),
    ],
)
def test_the_readers_of_a_file_may_execute_it_as_requested(
    mode: int | None, executable: bool | None, bits: int, tmp_path: Path
) -> None:
    old = os.umask(0o027)
    try:
        replace_file(tmp_path, "a", b"", "draft", mode=mode, executable=executable)
    finally:
        os.umask(old)
    assert mode_of(tmp_path / "a") == bits


def test_the_content_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bytes | None, list[str]]] = []

    def sync(file: int) -> None:
        path = Path(f"/proc/self/fd/{file}").readlink()
        content = None if path.is_dir() else path.read_bytes()
        seen.append((content, sorted(os.listdir(tmp_path))))

    monkeypatch.setattr(os, "fsync", sync)
    replace_file(tmp_path, "a.txt", b"new", "draft")
    remove_file(tmp_path, "a.txt")
    assert seen == [(b"new", ["draft"]), (None, ["a.txt"]), (None, [])]


def test_an_entry_is_described_itself_and_not_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("12345")
    (tmp_path / "link").symlink_to("a.txt")
    (tmp_path / "dangling").symlink_to("nowhere")
    kinds = {
        name: found and stat.S_IFMT(found.st_mode)
        for name in (".", "a.txt", "link", "dangling", "none", "none/a.txt", "a.txt/x")
        for found in [status_of(tmp_path, name)]
    }
    assert kinds == {
        ".": stat.S_IFDIR,
        "a.txt": stat.S_IFREG,
        "link": stat.S_IFLNK,
        "dangling": stat.S_IFLNK,
        "none": None,
        "none/a.txt": None,
        "a.txt/x": None,
    }


def test_what_does_not_exist_is_removed_already(tmp_path: Path) -> None:
    remove_file(tmp_path, "a.txt")
    remove_file(tmp_path, "none/a.txt")
    (tmp_path / "empty").mkdir()
    remove_directory(tmp_path, "empty")
    assert os.listdir(tmp_path) == []


def test_no_file_stays_open(tmp_path: Path) -> None:
    before = open_files()
    replace_file(tmp_path, "a/b/c.txt", b"new", "draft")
    assert read_file(tmp_path, "a/b/c.txt") == b"new"
    with pytest.raises(NotRegular):
        read_file(tmp_path, "a/b")
    with pytest.raises(NotADirectoryError):
        read_file(tmp_path, "a/b/c.txt/d.txt")
    assert status_of(tmp_path, "a/b/c.txt") is not None
    remove_file(tmp_path, "a/b/c.txt")
    remove_directory(tmp_path, "a/b")
    assert open_files() == before


def test_a_private_folder_becomes_its_owners_alone(tmp_path: Path) -> None:
    deep, shared = tmp_path / "a" / "b", tmp_path / "shared"
    shared.mkdir(mode=0o755)
    for folder in (deep, shared, shared):
        private_folder(folder)
        assert mode_of(folder) == 0o700


def test_a_private_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text("old")
    file.chmod(0o644)
    write_private(file, "né")
    assert file.read_text(encoding="utf-8") == "né"
    assert mode_of(file) == 0o600
    with pytest.raises(FileNotFoundError) as raised:
        write_private(tmp_path / "none" / "state.json", "x")
    assert raised.value.filename == str(tmp_path / "none" / "state.json")
    assert os.listdir(tmp_path) == ["state.json"]
