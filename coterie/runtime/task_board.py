"""TaskBoard: which workflow task each thread of a worker runs, for another process to read.

Shared memory, since a worker that is blocked answers nothing: a thread that holds the interpreter's
lock lets no other one run.
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

INTERRUPTED_AFTER = 2.0
"""Seconds after which the SDK fails a workflow task and interrupts its thread (TMPRL1101)."""

MIN_CPU = 1.0
"""CPU seconds of an interrupted task that blocked its thread, rather than waited for its turn."""

_SLOTS = 600
"""More than an SDK worker has threads for workflow tasks."""

_HEAD = struct.Struct("<QQdH")
"""Number of the task (odd while it is written), thread, its CPU seconds so far, length of a run."""

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

    def __init__(
        self, overran: Callable[[bytes, float], None] | None = None, *, min_cpu: float = MIN_CPU
    ) -> None:
        """A board with no task on it.

        Args:
            overran: is called by a task's own thread with its run and its CPU seconds, when the
                SDK has interrupted it.
            min_cpu: so many CPU seconds at least, so that a slow machine condemns nobody.
        """
        self._overran = overran
        self._min_cpu = min_cpu
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
        """Say that this thread begins a task of the run; give its slot."""
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
        own["run"], own["cpu"], own["began"] = run, cpu, time.monotonic()
        _HEAD.pack_into(self._memory, at, number + 2, thread, cpu, len(run))
        return slot

    def end(self, slot: int) -> None:
        """Say that the task has ended."""
        _HEAD.pack_into(self._memory, slot * _SIZE, 1, _IDLE, 0.0, 0)
        own = self._own.__dict__
        if self._overran is not None and time.monotonic() - own["began"] >= INTERRUPTED_AFTER:
            cpu = time.thread_time() - own["cpu"]
            if cpu >= self._min_cpu:
                self._overran(own["run"], cpu)

    def close(self) -> None:
        """Remove the file; a process that reads it keeps what it has mapped."""
        self.path.unlink(missing_ok=True)


def _allocate(descriptor: int, size: int) -> None:
    """Give the file its size, and the disk's room for it where the system can.

    Without the room, a full disk would end the process by SIGBUS in the middle of a task.
    """
    if sys.platform == "darwin":
        os.ftruncate(descriptor, size)
    else:
        os.posix_fallocate(descriptor, 0, size)


def run_name(workflow_id: str, run_id: str) -> bytes:
    """A run as the board holds it."""
    return f"{run_id}/{workflow_id}".encode(errors="replace")[:_MAX_RUN]


class BoardReader:
    """The same memory, in the process that watches."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def tasks(self) -> Iterator[WorkflowTask]:
        """Every task in progress."""
        for slot in range(_SLOTS):
            found = self.task(slot)
            if found is not None:
                yield found

    def task(self, slot: int) -> WorkflowTask | None:
        """What a slot holds, unless it is being written."""
        at = slot * _SIZE
        number, thread, cpu, length = _HEAD.unpack_from(self._memory, at)
        run = self._memory[at + _HEAD.size : at + _HEAD.size + length]
        if number % 2 or thread == _IDLE or self._number(slot) != number:
            return None
        run_id, _, workflow_id = run.decode(errors="replace").partition("/")
        return WorkflowTask(slot, number, thread, cpu, workflow_id, run_id)

    def goes_on(self, task: WorkflowTask) -> bool:
        """Whether that very task is still in progress."""
        return self._number(task.slot) == task.number

    def _number(self, slot: int) -> int:
        return _HEAD.unpack_from(self._memory, slot * _SIZE)[0]
