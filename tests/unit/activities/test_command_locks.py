"""A command that holds a lock excludes others of its name, and leaves nothing behind."""

import asyncio
import fcntl
import os
from pathlib import Path

import pytest

from coterie.activities.workspace.command_lock import alone
from coterie.activities.workspace.function_failures import FunctionFailure


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def open_files() -> set[str]:
    return {file.name for file in files_in(Path("/proc/self/fd"))}


async def test_a_second_command_of_a_name_waits_for_the_first(tmp_path: Path) -> None:
    order: list[str] = []

    async def second() -> None:
        async with alone(tmp_path, "make"):
            order.append("second")

    async with alone(tmp_path, "make"):
        waiting = asyncio.create_task(second())
        async with alone(tmp_path, "test"):
            order.append("another name")
        order.append("first")
    await waiting
    assert order == ["another name", "first", "second"]


async def test_a_lock_that_has_ended_leaves_no_file_and_no_descriptor(tmp_path: Path) -> None:
    async with alone(tmp_path / "locks", "make") as descriptor:
        assert len(files_in(tmp_path / "locks")) == 1
        os.fstat(descriptor)
    assert files_in(tmp_path / "locks") == []
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


async def test_a_lock_whose_file_somebody_removed_ends_all_the_same(tmp_path: Path) -> None:
    before = open_files()
    async with alone(tmp_path, "make"):
        (file,) = files_in(tmp_path)
        file.unlink()
    assert open_files() == before


async def test_a_lock_that_another_process_holds_is_waited_for_without_open_files(
    tmp_path: Path,
) -> None:
    async with alone(tmp_path, "make"):
        (file,) = files_in(tmp_path)
    held = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    before = open_files()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.12), alone(tmp_path, "make"):
            pass
    assert open_files() == before
    os.close(held)
    async with alone(tmp_path, "make"):
        pass


async def test_a_folder_that_takes_no_lock_is_a_failure_of_the_function(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FunctionFailure, match="could not write the lock that serialises commands"):
        async with alone(tmp_path / "file", "make"):
            pass
