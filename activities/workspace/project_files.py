"""Access files below one folder through directory handles, so that no link leads outside.

Between the check of a path and its use, anyone with write access could replace it by a symlink. So
every directory on the path, and the file itself, is opened without following links: a swapped link
causes a system error, never a read or write outside.
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
    """A device, a FIFO, a socket or a directory in place of a file."""


@contextmanager
def directory(root: Path, relative: str = ".", *, make: bool = False) -> Generator[int]:
    """Open a directory below the root.

    Args:
        root: The resolved path of the folder.
        relative: Path below it, with forward slashes.
        make: Create missing directories.

    Raises:
        OSError: It does not exist, or a link is on the path.
    """
    handle = os.open(root, _DIRECTORY)
    try:
        for part in PurePosixPath(relative).parts:
            is_new = make and _make_directory(part, handle)
            deeper = os.open(part, _DIRECTORY, dir_fd=handle)
            if is_new:
                _give_to_owner(deeper, handle)
            os.close(handle)
            handle = deeper
        yield handle
    finally:
        os.close(handle)


@contextmanager
def parent_of(root: Path, relative: str, *, make: bool = False) -> Generator[tuple[int, str]]:
    """Open the directory of a file; yield it with the file's name."""
    path = PurePosixPath(relative)
    with directory(root, str(path.parent), make=make) as handle:
        yield handle, path.name


def read_file(root: Path, relative: str, maximum: int | None = None) -> bytes:
    """Return the content of a regular file.

    Args:
        root: The folder.
        relative: The file's path below it.
        maximum: Bytes to read; default: the whole file.

    Raises:
        NotRegular: It is not a regular file.
        OSError: It cannot be read, or a link is on the path.
    """
    with parent_of(root, relative) as (handle, name):
        return read_at(handle, name, maximum)


def read_at(handle: int, name: str, maximum: int | None = None) -> bytes:
    """Return the content of a regular file in an open directory; fails like `read_file`."""
    file = os.open(name, _READ, dir_fd=handle)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise NotRegular(0, "not a regular file", name)
        with os.fdopen(os.dup(file), "rb") as opened:
            return opened.read(maximum)
    finally:
        os.close(file)


def status_of(root: Path, relative: str) -> os.stat_result | None:
    """Return the status of the entry itself, without following links; None if it does not exist.

    Raises:
        OSError: A link is on the path.
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
    """Replace a file atomically, and sync it to disk.

    Args:
        root: The folder.
        relative: The file's path below it; directories are created.
        content: New content.
        draft: Name of the temporary copy beside it.
        mode: Permission bits; None for those of a new file.
        executable: Set or clear the executable bits; None leaves them.

    Raises:
        OSError: It cannot be written, or a link is on the path.
    """
    with parent_of(root, relative, make=True) as (handle, name):
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=handle)
        try:
            file = os.open(draft, _CREATE, _NEW_FILE, dir_fd=handle)
            with os.fdopen(file, "wb") as opened:
                opened.write(content)
                opened.flush()
                _give_to_owner(file, handle)
                os.fchmod(file, _bits(file, mode, executable))
                os.fsync(file)
            os.replace(draft, name, src_dir_fd=handle, dst_dir_fd=handle)
        except OSError:
            with suppress(OSError):
                os.unlink(draft, dir_fd=handle)
            raise
        os.fsync(handle)


def _make_directory(name: str, parent: int) -> bool:
    """Create a directory, and return whether it did not exist."""
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=parent)
        return True
    return False


def _give_to_owner(entry: int, parent: int) -> None:
    """Give what a worker creates as root to the owner of the folder, as whom commands run."""
    owner = os.fstat(parent)
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.fchown(entry, owner.st_uid, owner.st_gid)


def _bits(file: int, mode: int | None, executable: bool | None) -> int:
    """Return the permission bits for a file."""
    bits = stat.S_IMODE(os.fstat(file).st_mode) if mode is None else mode
    if executable is True:
        return bits | (bits & 0o444) >> 2  # readers may also execute it
    return bits & ~0o111 if executable is False else bits


def remove_file(root: Path, relative: str) -> None:
    """Delete a file if it exists, and sync its directory.

    Raises:
        OSError: It cannot be deleted, or a link is on the path.
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
        OSError: It does not exist, is not empty, or a link is on the path.
    """
    with parent_of(root, relative) as (handle, name):
        os.rmdir(name, dir_fd=handle)


def private_folder(folder: Path) -> None:
    """Create a folder that only this user may access."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)


def write_private(path: Path, text: str) -> None:
    """Write a file atomically that only this user may read.

    Raises:
        OSError: It cannot be written; its `filename` is the path, also when the disk is full.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    try:
        with open(draft, "w", encoding="utf-8", opener=private_opener) as opened:
            opened.write(text)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from error


def private_opener(path: str, flags: int) -> int:
    """Create files that only this user may read: `open(..., opener=private_opener)`."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
