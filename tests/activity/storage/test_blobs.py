"""Blobs are kept once, whole, by any number of processes, and what is missing is reported."""

import asyncio
import errno
import os
import stat
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from coterie.activities.storage.blobs import (
    BlobMissing,
    Blobs,
    BlobsUnusable,
    DirectoryBlobs,
    MemoryBlobs,
    name_of,
)

TEXT = b"what is kept" * 5000
SMALL = b"less than the buffer of a file"


def files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


@pytest.fixture(params=["directory", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    return DirectoryBlobs(tmp_path) if request.param == "directory" else MemoryBlobs()


async def test_stored_value_is_found_under_the_hash_of_its_content(blobs: Blobs) -> None:
    name = await blobs.put(TEXT, "run")
    assert name == name_of(TEXT)
    assert await blobs.get(name, "run") == TEXT


async def test_value_that_was_never_stored_is_reported_as_missing(blobs: Blobs) -> None:
    with pytest.raises(BlobMissing, match="the value 0123"):
        await blobs.get("0123" * 16, "run")


async def test_equal_content_is_one_file_whose_age_tells_its_last_use(tmp_path: Path) -> None:
    blobs = DirectoryBlobs(tmp_path)
    name = await blobs.put(TEXT, "a")
    os.utime(blobs.path(name), (1, 1))
    assert await blobs.put(TEXT, "b") == name
    assert [file.name for file in files(tmp_path)] == [name]
    assert blobs.path(name).stat().st_mtime > time.time() - 3600


async def test_a_file_that_holds_something_else_is_not_taken_for_what_was_kept(
    tmp_path: Path,
) -> None:
    blobs = DirectoryBlobs(tmp_path)
    name = await blobs.put(TEXT, "")
    blobs.path(name).write_bytes(b"x" * len(TEXT))
    with pytest.raises(BlobMissing, match="is damaged"):
        await blobs.get(name, "")


async def test_half_a_file_is_written_anew(tmp_path: Path) -> None:
    """A machine that loses its power may keep a name and lose what is under it."""
    blobs = DirectoryBlobs(tmp_path)
    name = await blobs.put(TEXT, "")
    blobs.path(name).write_bytes(TEXT[:10])
    await blobs.put(TEXT, "")
    assert await blobs.get(name, "") == TEXT


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "a" * 63, "../" + "a" * 61])
async def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(BlobMissing, match="is not the name of a stored value"):
        await DirectoryBlobs(tmp_path).get(name, "")


async def test_a_place_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    blobs = DirectoryBlobs(tmp_path / "file" / "blobs")
    assert not blobs.takes(1)
    with pytest.raises(BlobsUnusable, match=r"cannot be written: .*\(Not a directory\)"):
        await blobs.put(TEXT, "")
    assert str(blobs.folder) in caplog.text, "the log has the whole path"


async def test_a_disk_that_fails_keeps_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sync(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(BlobsUnusable, match="No space left on device"):
        await DirectoryBlobs(tmp_path).put(SMALL, "run")
    assert files(tmp_path) == []


def test_a_storage_makes_its_folder_and_takes_what_leaves_a_megabyte_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = DirectoryBlobs(tmp_path / "deep" / "blobs")
    assert [blobs.takes(10), blobs.takes(10)] == [True, True]
    assert blobs.folder.is_dir()
    disk = SimpleNamespace(f_bavail=3_000, f_frsize=1_000)
    monkeypatch.setattr(os, "statvfs", lambda _: disk)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert [blobs.takes(1_999_999), blobs.takes(2_000_000)] == [True, False]


@pytest.mark.parametrize(("private", "mode"), [(False, 0o644), (True, 0o600)])
async def test_a_file_is_whole_on_the_disk_before_it_has_its_name(
    private: bool, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs, synced = DirectoryBlobs(tmp_path, private=private), list[tuple[int, int]]()

    def sync(file: int) -> None:
        synced.append((os.fstat(file).st_size, len(list(tmp_path.rglob(name_of(SMALL))))))

    monkeypatch.setattr(os, "fsync", sync)
    name = await blobs.put(SMALL, "run")
    assert synced == [(len(SMALL), 0)]
    assert stat.S_IMODE(blobs.path(name).stat().st_mode) == mode


WRITER = """
import asyncio, sys
from pathlib import Path
from coterie.activities.storage.blobs import DirectoryBlobs
async def main():
    blobs = DirectoryBlobs(Path(sys.argv[1]))
    for number in range(40):
        name = await blobs.put(str(number).encode() * 20_000, "")
        assert len(await blobs.get(name, "")) >= 20_000
asyncio.run(main())
"""


async def test_several_processes_write_and_read_the_same_at_once(tmp_path: Path) -> None:
    writers = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, str(tmp_path))
        for _ in range(4)
    ]
    assert [await writer.wait() for writer in writers] == [0] * 4
    written = files(tmp_path)
    assert len(written) == 40
    assert all(name_of(file.read_bytes()) == file.name for file in written)
