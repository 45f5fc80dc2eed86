"""Files below one folder, reached by handles of directories: no link leads anywhere else.

A path is checked before it is used, and whoever may write in the folder may put a symlink in its
place in between. So every directory on the way is opened without following links, and the file
itself as well: a swapped link is an error of the system, never a read or a write outside.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = 0o666


class NotRegular(OSError):
    """A device, a FIFO, a socket or a directory where a file was meant."""


@contextmanager
def directory(root: Path, relative: str = ".", *, make: bool = False) -> Generator[int]:
    """Hold a directory below the root open.

    Args:
        root: the folder, as it is really called.
        relative: path below it, with forward slashes.
        make: make what is missing on the way.

    Raises:
        OSError: it is not there, or a link lies on the way.
    """
    handle = os.open(root, _DIRECTORY)
    try:
        for part in PurePosixPath(relative).parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=handle)
            deeper = os.open(part, _DIRECTORY, dir_fd=handle)
            os.close(handle)
            handle = deeper
        yield handle
    finally:
        os.close(handle)


@contextmanager
def parent_of(root: Path, relative: str, *, make: bool = False) -> Generator[tuple[int, str]]:
    """Hold the directory of a file open; with the file's name in it."""
    path = PurePosixPath(relative)
    with directory(root, str(path.parent), make=make) as handle:
        yield handle, path.name


def read_file(root: Path, relative: str, most: int | None = None) -> bytes:
    """Return the content of a regular file.

    Args:
        root: the folder.
        relative: the file's path below it.
        most: bytes to read; the whole file by default.

    Raises:
        NotRegular: it is no regular file.
        OSError: it cannot be read, or a link lies on the way.
    """
    with parent_of(root, relative) as (handle, name):
        return read_at(handle, name, most)


def read_at(handle: int, name: str, most: int | None = None) -> bytes:
    """Return the content of a regular file of an open directory; fails as `read_file`."""
    file = os.open(name, _READ, dir_fd=handle)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise NotRegular(0, "not a regular file", name)
        with os.fdopen(os.dup(file), "rb") as opened:
            return opened.read() if most is None else opened.read(most)
    finally:
        os.close(file)


def status_of(root: Path, relative: str) -> os.stat_result | None:
    """Return what lies there, not what a link leads to; None where there is nothing.

    Raises:
        OSError: a link lies on the way.
    """
    try:
        with parent_of(root, relative) as (handle, name):
            return os.stat(name or ".", dir_fd=handle, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def replace_file(
    root: Path,
    relative: str,
    content: bytes,
    draft: str,
    *,
    mode: int | None = None,
    executable: bool | None = None,
) -> None:
    """Put a file in its place at once, and wait until the disk has it.

    Args:
        root: the folder.
        relative: the file's path below it; directories are made.
        content: of the file.
        draft: name of the copy beside it that takes its place.
        mode: permission bits; None for those that a new file gets.
        executable: set or clear the executable bits; None leaves them.

    Raises:
        OSError: it cannot be written, or a link lies on the way.
    """
    with parent_of(root, relative, make=True) as (handle, name):
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=handle)
        try:
            file = os.open(draft, _CREATE, _NEW_FILE, dir_fd=handle)
            with os.fdopen(file, "wb") as opened:
                opened.write(content)
                opened.flush()
                os.fchmod(file, _bits(file, mode, executable))
                os.fsync(file)
            os.replace(draft, name, src_dir_fd=handle, dst_dir_fd=handle)
        except OSError:
            with suppress(OSError):
                os.unlink(draft, dir_fd=handle)
            raise
        os.fsync(handle)


def _bits(file: int, mode: int | None, executable: bool | None) -> int:
    """The permission bits that a file is to have."""
    bits = stat.S_IMODE(os.fstat(file).st_mode) if mode is None else mode
    if executable is True:
        return bits | (bits & 0o444) >> 2  # whoever may read it may run it
    return bits & ~0o111 if executable is False else bits


def remove_file(root: Path, relative: str) -> None:
    """Delete a file, if it is there, and wait until the disk knows.

    Raises:
        OSError: it cannot be deleted, or a link lies on the way.
    """
    try:
        with parent_of(root, relative) as (handle, name):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=handle)
            os.fsync(handle)
    except FileNotFoundError:
        return


def remove_directory(root: Path, relative: str) -> None:
    """Delete an empty directory.

    Raises:
        OSError: it is not there, not empty, or a link lies on the way.
    """
    with parent_of(root, relative) as (handle, name):
        os.rmdir(name, dir_fd=handle)


def private_folder(folder: Path) -> None:
    """Make a folder that nobody else may look into."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody else may read, whole or not at all.

    Raises:
        OSError: it cannot be written; its `filename` is the path, also when the disk is full.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    try:
        with open(draft, "w", encoding="utf-8", opener=private_opener) as opened:
            opened.write(text)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def private_opener(path: str, flags: int) -> int:
    """Open a file that, if it is new, nobody else may read: `open(..., opener=private_opener)`."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
