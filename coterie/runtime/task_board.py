"""TaskBoard: records which workflow task each thread of a worker runs, for another process.

It is shared memory, because a blocked worker cannot answer: a thread that holds the interpreter's
lock stops all others.
"""

import itertools
import mmap
import os
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_SLOTS = 600
"""More than an SDK worker has threads for workflow tasks."""

_HEAD = struct.Struct("<QQdH")
"""Number of the task (odd during a write), thread id, CPU seconds so far, length of the run's name.
"""

_MAX_RUN = 1_100
_SIZE = _HEAD.size + _MAX_RUN
_IDLE = 0


@dataclass(frozen=True, slots=True)
class WorkflowTask:
    """One workflow task in progress."""

    slot: int
    number: int
    thread: int
    cpu_at_start: float
    workflow_id: str
    run_id: str


class TaskBoard:
    """The workflow tasks of one worker process."""

    def __init__(self, overran: Callable[[bytes, float], None] | None = None) -> None:
        """Create an empty board.

        Args:
            overran: Called by a task's own thread with its run and CPU seconds, after it was
                interrupted.
        """
        self._overran = overran
        descriptor, name = tempfile.mkstemp(prefix="coterie-tasks-")
        try:
            _allocate(descriptor, _SLOTS * _SIZE)
            self._memory = mmap.mmap(descriptor, _SLOTS * _SIZE)
        except OSError as error:
            os.unlink(name)
            raise OSError(error.errno, error.strerror, name) from None
        finally:
            os.close(descriptor)
        self.path = Path(name)
        self._free = itertools.count()
        self._own = threading.local()

    def begin(self, run: bytes) -> int:
        """Record that this thread starts a task of the run; return its slot."""
        own = self._own.__dict__
        if "slot" not in own:
            own["slot"] = next(self._free) % _SLOTS
            own["number"] = 0
        slot: int = own["slot"]
        number: int = own["number"]
        own["number"] = number + 2
        at = slot * _SIZE
        thread = threading.get_native_id()
        _HEAD.pack_into(self._memory, at, number + 1, thread, 0.0, 0)
        self._memory[at + _HEAD.size : at + _HEAD.size + len(run)] = run
        cpu = time.thread_time()
        own["run"] = run
        _HEAD.pack_into(self._memory, at, number + 2, thread, cpu, len(run))
        return slot

    def end(self, slot: int) -> None:
        """Record that the task has ended."""
        _HEAD.pack_into(self._memory, slot * _SIZE, 1, _IDLE, 0.0, 0)

    def overran(self, cpu: float) -> None:
        """Report that the task of this thread was interrupted after so many CPU seconds."""
        if self._overran is not None:
            self._overran(self._own.__dict__["run"], cpu)

    def close(self) -> None:
        """Remove the file; a process that reads it keeps its mapping."""
        self.path.unlink(missing_ok=True)


def _allocate(descriptor: int, size: int) -> None:
    """Set the file's size, and allocate its disk space where the system can.

    Without allocation, a full disk would kill the process by SIGBUS during a task.
    """
    if sys.platform == "darwin":
        os.ftruncate(descriptor, size)
    else:
        os.posix_fallocate(descriptor, 0, size)


def run_name(workflow_id: str, run_id: str) -> bytes:
    """Encode a run's name for the board."""
    return f"{run_id}/{workflow_id}".encode(errors="replace")[:_MAX_RUN]


class BoardReader:
    """Reads the board in the watchdog process."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def tasks(self) -> Iterator[WorkflowTask]:
        """Yield every task in progress."""
        for slot in range(_SLOTS):
            task = self.task(slot)
            if task is not None:
                yield task

    def task(self, slot: int) -> WorkflowTask | None:
        """Return the content of a slot, unless it is being written."""
        at = slot * _SIZE
        number, thread, cpu, length = _HEAD.unpack_from(self._memory, at)
        run = self._memory[at + _HEAD.size : at + _HEAD.size + length]
        if number % 2 or thread == _IDLE or self._number(slot) != number:
            return None
        run_id, _, workflow_id = run.decode(errors="replace").partition("/")
        return WorkflowTask(slot, number, thread, cpu, workflow_id, run_id)

    def goes_on(self, task: WorkflowTask) -> bool:
        """Return whether this same task is still in progress."""
        return self._number(task.slot) == task.number

    def _number(self, slot: int) -> int:
        return _HEAD.unpack_from(self._memory, slot * _SIZE)[0]
