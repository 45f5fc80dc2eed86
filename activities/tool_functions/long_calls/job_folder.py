"""The files of one long call, by which every worker of the machine knows how it stands.

Its process holds a lock as long as it lives, and writes how the call ended before it ends. So a
call whose process was killed differs from one that continues, whatever happens to the workers.
"""

import fcntl
import json
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from coterie.activities.tool_functions.long_calls.job_messages import JobEnd, JobTerms

JobState = Literal["absent", "running", "ended", "lost"]

_ID = re.compile(r"[0-9a-f]{32}")
_KEPT_SECONDS = 30 * 86_400.0
"""How long the files of a call stay, since a run may come for its result after a long pause."""


class JobFolder:
    """The folder of one call below `jobs` of the worker's state."""

    def __init__(self, state_dir: Path, id: str) -> None:
        if not _ID.fullmatch(id):
            raise ValueError(f"{id!r} identifies no call")
        self.id = id
        self._jobs = state_dir / "jobs"
        self._path = self._jobs / id

    def prepare(self) -> None:
        """Create the folder, and remove those of old calls."""
        for folder in (self._jobs.parent, self._jobs, self._path):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        oldest = time.time() - _KEPT_SECONDS
        for other in self._jobs.iterdir():
            with suppress(OSError):  # another worker removes it too
                if other.stat().st_mtime < oldest and JobFolder._is_free(other):
                    for file in other.iterdir():
                        file.unlink()
                    other.rmdir()

    def state(self) -> JobState:
        """Return how the call stands."""
        is_free = self._is_free(self._path)  # before the look at the end, which comes first
        if not self._start_marker.exists():
            return "lost" if is_free and self._earlier() else "absent"
        if self._end.exists():
            return "ended"
        return "lost" if is_free else "running"

    def end(self) -> JobEnd:
        """Return how the call ended."""
        return JobEnd.model_validate_json(self._end.read_bytes())

    @property
    def beginnings(self) -> int:
        """How often the call was begun."""
        return len(self._earlier()) + self._start_marker.exists()

    @property
    def terms(self) -> JobTerms:
        """The terms with which the call began; a worker may have died before it began again."""
        path = self._start_marker if self._start_marker.exists() else self._earlier()[-1]
        return JobTerms.model_validate_json(path.read_bytes())

    def forget(self) -> None:
        """Let the call begin again: its process was killed, or its failure may pass."""
        before = self._path / f"before-{len(self._earlier()) + 1}"
        self._end.unlink(missing_ok=True)
        with suppress(FileNotFoundError):  # another worker was faster
            self._start_marker.rename(before)

    def cancel(self) -> None:
        """Tell the process of the call to end; it looks here, and kills what it has started.

        A signal would not do: the process may be in another container with the same folder.
        """
        with suppress(OSError):
            os.close(_private(str(self._stop_marker), os.O_CREAT | os.O_WRONLY))

    @property
    def is_unwanted(self) -> bool:
        """Whether nobody waits for the call any more."""
        return self._stop_marker.exists()

    def take(self, terms: JobTerms) -> int | None:
        """Begin the call as its process: return the lock, or None if the call has begun already."""
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        if self._start_marker.exists():
            os.close(descriptor)
            return None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        self._write(self._start_marker, terms.model_dump_json())
        return descriptor

    def write(self, end: JobEnd) -> None:
        """Record how the call ended, at once."""
        self._write(self._end, end.model_dump_json())

    def note(self, progress: JsonValue) -> None:
        """Record what the call reports for the case that it is begun again."""
        self._write(self._path / "progress.json", json.dumps(progress))

    def progress(self) -> JsonValue:
        """Return what the call reported last; None if it has reported nothing."""
        file = self._path / "progress.json"
        return json.loads(file.read_bytes()) if file.exists() else None

    def _write(self, file: Path, text: str) -> None:
        draft = file.with_suffix(".draft")
        with open(draft, "w", opener=_private) as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        draft.rename(file)

    @property
    def _lock(self) -> Path:
        return self._path / "lock"

    @property
    def _start_marker(self) -> Path:
        return self._path / "begun"

    @property
    def _end(self) -> Path:
        return self._path / "end.json"

    @property
    def _stop_marker(self) -> Path:
        return self._path / "unwanted"

    def _earlier(self) -> list[Path]:
        """Return the notes of beginnings that came to nothing, in their order."""
        return sorted(self._path.glob("before-*"), key=lambda file: (len(file.name), file.name))

    @staticmethod
    def busy(state_dir: Path) -> list[str]:
        """Return the calls below a worker's state whose processes are alive."""
        folders = sorted((state_dir / "jobs").glob("*"))
        return [folder.name for folder in folders if not JobFolder._is_free(folder)]

    @staticmethod
    def _is_free(folder: Path) -> bool:
        """Return whether no process holds the lock of a call."""
        try:
            descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # others may look, too
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
