"""Blobs: bytes that are kept once, under the hash of their content, outside of histories.

What is large, and every turn of a conversation, lies here; a history holds the hash alone. A blob
never changes, so who has it may keep it in memory, and two who write it write the same.
"""

import asyncio
import errno
import logging
import os
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from activities.os_errors import reason_of

_LOG = logging.getLogger(__name__)


class BlobMissing(Exception):
    """A blob that a history names is not there (any more), or is not what it was."""


class BlobsUnusable(Exception):
    """The place of the blobs cannot be reached, read or written."""


class Blobs(Protocol):
    """Where blobs are kept."""

    async def put(self, data: bytes, within: str) -> str:
        """Keep it; its name.

        Args:
            data: the bytes.
            within: the run that it belongs to, where the place is divided by runs.

        Raises:
            BlobsUnusable: it cannot be kept.
        """
        ...

    async def get(self, name: str, within: str) -> bytes:
        """What was kept under a name.

        Raises:
            BlobMissing: nothing, or something else by now.
            BlobsUnusable: the place cannot be reached.
        """
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


def name_of(data: bytes) -> str:
    """The name that content gives itself."""
    return sha256(data).hexdigest()


class MemoryBlobs:
    """In this process, for as long as it lives: tests, and plans that are played in one process."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}

    async def put(self, data: bytes, within: str) -> str:
        """Keep it; its name."""
        name = name_of(data)
        self._blobs[name] = data
        return name

    async def get(self, name: str, within: str) -> bytes:
        """What was kept under a name."""
        data = self._blobs.get(name)
        if data is None:
            raise BlobMissing(f"the value {name[:12]} is not kept in this process")
        return data

    async def close(self) -> None:
        """Nothing is held open."""


class DirectoryBlobs:
    """Files in one folder, which every process on its machine (or share) may use at once.

    A file appears whole or not at all: it is written beside its place, flushed to the disk, and
    renamed. To keep again what is there makes it new, so that its age tells its last use.
    """

    def __init__(self, folder: Path, *, private: bool = False) -> None:
        """Blobs in a folder.

        Args:
            folder: where they lie.
            private: nobody but this user may read them.
        """
        self.folder = folder
        self._mode = 0o600 if private else 0o644

    async def put(self, data: bytes, within: str) -> str:
        """Keep it; its name."""
        name = name_of(data)
        try:
            await asyncio.to_thread(self._write, name, data)
        except OSError as error:
            raise self._unusable("written", error) from None
        return name

    async def get(self, name: str, within: str) -> bytes:
        """What was kept under a name."""
        try:
            data = await asyncio.to_thread(self.path(name).read_bytes)
        except FileNotFoundError:
            raise BlobMissing(
                f"the value {name[:12]} is not in the storage {self.folder}: it was cleaned away, "
                "or written elsewhere"
            ) from None
        except OSError as error:
            raise self._unusable("read", error) from None
        if name_of(data) != name:
            raise BlobMissing(f"the file {self.path(name)} holds something else than was kept")
        return data

    async def close(self) -> None:
        """Nothing is held open."""

    def path(self, name: str) -> Path:
        """Where a blob lies; a thousandth of them to a folder."""
        if len(name) != 64 or not name.isalnum():  # a path has no business in a name
            raise BlobMissing(f"{name[:80]!r} is no name of a stored value")
        return self.folder / name[:2] / name

    def takes(self, size: int) -> bool:
        """Whether so many bytes can be written now: the disk is not full, the folder is ours."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            free = os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize
        except OSError:
            return False
        return free > size + _SPARE and os.access(self.folder, os.W_OK | os.X_OK)

    def _unusable(self, done: str, error: OSError) -> BlobsUnusable:
        """For a run, which names the folder alone; where it lies is for the worker's operator."""
        _LOG.warning("the storage %s cannot be %s: %s", self.folder, done, reason_of(error))
        return BlobsUnusable(
            f"the storage folder {self.folder.name!r} cannot be {done}: {reason_of(error)}"
        )

    def _write(self, name: str, data: bytes) -> None:
        path = self.path(name)
        try:
            os.utime(path)
            if path.stat().st_size == len(data):
                return
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
        except PermissionError:  # another user's file: it is there, its age stays
            return
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(beside).chmod(self._mode)
            Path(beside).replace(path)
        except OSError as error:
            Path(beside).unlink(missing_ok=True)
            raise OSError(error.errno or errno.EIO, error.strerror or str(error)) from None


_SPARE = 1_000_000
"""Bytes that are left to others on a disk that is nearly full."""
