"""Store blobs: bytes outside histories, each once, under the hash of its content.

Large values and all turns of conversations live here; a history holds only the hash. A blob never
changes, so readers may cache it, and concurrent writers write the same bytes.
"""

import errno
import logging
import os
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from coterie.activities.os_errors import reason_of
from coterie.activities.threads.run_threads import STORAGE_THREADS

_LOG = logging.getLogger(__name__)


class BlobMissing(Exception):
    """A blob that a history names is not there; it may come back, with its disk or its share."""


class BlobDamaged(BlobMissing):
    """A blob, or its name, is not what the history says; it will not become so."""


class BlobsUnusable(Exception):
    """The blob storage cannot be reached, read or written."""


class Blobs(Protocol):
    """A place for blobs."""

    async def put(self, data: bytes, within: str) -> str:
        """Store bytes, and return their name.

        Args:
            data: The bytes.
            within: The run that they belong to, where the storage is divided by runs.

        Raises:
            BlobsUnusable: The storage cannot be written.
        """
        ...

    async def get(self, name: str, within: str) -> bytes:
        """Return the bytes stored under a name.

        Raises:
            BlobMissing: The blob does not exist or is damaged.
            BlobsUnusable: The storage cannot be reached.
        """
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


def name_of(data: bytes) -> str:
    """Return the name of a content: its SHA-256 hash."""
    return sha256(data).hexdigest()


class MemoryBlobs:
    """Keeps blobs in memory, for tests and in-process plans."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}

    async def put(self, data: bytes, within: str) -> str:
        """Store bytes, and return their name."""
        name = name_of(data)
        self._blobs[name] = data
        return name

    async def get(self, name: str, within: str) -> bytes:
        """Return the bytes stored under a name."""
        data = self._blobs.get(name)
        if data is None:
            raise BlobMissing(f"the value {name[:12]} is not stored in this process")
        return data

    async def close(self) -> None:
        """Do nothing."""


class InheritedBlobs:
    """The blobs of a fork. What it reads of the runs that it was forked from becomes its own.

    So the values of a fork do not end with those of an older run, where each run has a place.
    """

    def __init__(self, blobs: Blobs, origins: Sequence[str]) -> None:
        """Take the storage, and the runs, latest first."""
        self._blobs = blobs
        self._origins = tuple(origins)

    async def put(self, data: bytes, within: str) -> str:
        """Store bytes, and return their name."""
        return await self._blobs.put(data, within)

    async def get(self, name: str, within: str) -> bytes:
        """Return the bytes stored under a name, for the run or for one of the others."""
        try:
            return await self._blobs.get(name, within)
        except BlobMissing as missing:
            for origin in self._origins:
                try:
                    data = await self._blobs.get(name, origin)
                except BlobMissing:
                    continue
                await self._blobs.put(data, within)
                return data
            raise missing from None

    async def close(self) -> None:
        """Do nothing: the storage is another one's."""


class DirectoryBlobs:
    """Keeps blobs as files in one folder that all processes of a machine (or share) may use.

    A file appears atomically: it is written to a temporary name, synced, and renamed. Storing an
    existing blob updates its modification time, which thus shows its last use.
    """

    def __init__(self, folder: Path, *, private: bool = False) -> None:
        """Open a folder.

        Args:
            folder: Where the files are.
            private: Only this user may read them.
        """
        self.folder = folder
        self._mode = 0o600 if private else 0o644

    async def put(self, data: bytes, within: str) -> str:
        """Store bytes, and return their name."""
        name = name_of(data)
        try:
            await STORAGE_THREADS.run(self._write, name, data)
        except OSError as error:
            raise self._unusable("written", error) from None
        return name

    async def get(self, name: str, within: str) -> bytes:
        """Return the bytes stored under a name."""
        try:
            data = await STORAGE_THREADS.run(self.path(name).read_bytes)
        except FileNotFoundError:
            raise BlobMissing(
                f"the value {name[:12]} is not in the storage {self.folder}: it was deleted there, "
                "or written to another storage"
            ) from None
        except OSError as error:
            raise self._unusable("read", error) from None
        if name_of(data) != name:
            raise BlobDamaged(f"the file {self.path(name)} is damaged: its content does not match")
        return data

    async def close(self) -> None:
        """Do nothing."""

    def path(self, name: str) -> Path:
        """Return the path of a blob; names are spread over 256 folders."""
        if len(name) != 64 or not name.isalnum():  # a name must never become a path
            raise BlobDamaged(f"{name[:80]!r} is not the name of a stored value")
        return self.folder / name[:2] / name

    def takes(self, size: int) -> bool:
        """Return whether so many bytes can be written now: free disk space, a writable folder."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            free = os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize
        except OSError:
            return False
        return free > size + _SPARE and os.access(self.folder, os.W_OK | os.X_OK)

    def _unusable(self, operation: str, error: OSError) -> BlobsUnusable:
        """Build the error for a run, which names only the folder; log the full path."""
        _LOG.warning("the storage %s cannot be %s: %s", self.folder, operation, reason_of(error))
        return BlobsUnusable(
            f"the storage folder {self.folder.name!r} cannot be {operation}: {reason_of(error)}"
        )

    def _write(self, name: str, data: bytes) -> None:
        path = self.path(name)
        try:
            os.utime(path)
            if path.stat().st_size == len(data):
                return
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
        except PermissionError:  # another user's file: it exists, only its age stays
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
            Path(beside).unlink()
            raise OSError(error.errno or errno.EIO, error.strerror or str(error)) from None


_SPARE = 1_000_000
"""Bytes that must remain free on the disk."""
