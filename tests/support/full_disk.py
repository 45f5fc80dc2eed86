"""A file system of its own that is small enough to fill."""

import errno
import itertools
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

PAGE = 4096
"""Bytes; a tmpfs gives out whole pages."""
NAMED = "the disk is full (No space left on device)"


@contextmanager
def small_disk(folder: Path, size: int = 512 * 1024, inodes: int = 500) -> Generator[Path]:
    """Mount a disk with so many bytes and so many files; skip the test for who may not mount."""
    folder.mkdir()
    options = f"size={size},nr_inodes={inodes}"
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mounting a disk needs root: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, spare: int = 0) -> Path:
    """Write until the disk is full, but for so many bytes; return the file that takes the room."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        _until_full(lambda: file.write(bytes(PAGE)))
        file.truncate(filler.stat().st_size - spare)
    return filler


def fill_with_files(disk: Path) -> None:
    """Make empty files until the disk takes no more."""
    numbers = itertools.count()
    _until_full(lambda: (disk / f"filler-{next(numbers)}").touch())


def _until_full(write: Callable[[], object]) -> None:
    while True:
        try:
            write()
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return
