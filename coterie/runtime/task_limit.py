"""Limit the CPU time of a workflow task, so that a busy machine condemns no run.

Temporal's SDK takes a task for deadlocked after two seconds of the clock. Here the CPU time of its
thread counts: a look from another thread interrupts a task that has used too much, and it fails.
One that keeps the interpreter's lock ends with its worker (`coterie/worker/watchdog.py`). Where
the system does not tell the CPU time of a thread, the SDK's limit stays, with more time.
"""

import ctypes
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from temporalio.worker._workflow import _WorkflowWorker  # pyright: ignore[reportPrivateUsage]

MAX_CPU = 4.0
"""CPU seconds of one workflow task."""

SEES_CPU = hasattr(time, "pthread_getcpuclockid")
"""Whether the system tells the CPU time of another thread."""

MAX_SECONDS = 600.0 if SEES_CPU else 20.0
"""Seconds of one workflow task by the clock; one whose CPU time is seen only waits so long."""

_LOOK = 0.25
_SDK_SECONDS = 2

T = TypeVar("T")


class TaskOverran(Exception):
    """A workflow task has used too much CPU: it fails, and is attempted again."""

    def __init__(self, used: float) -> None:
        self.used = used
        """CPU seconds."""
        super().__init__(f"the workflow task has used {used:.1f} s of CPU without yielding")


class _Interruption(BaseException):
    """Raised in the thread of a task; nobody else sees it."""


@dataclass(eq=False, slots=True)
class _Task:
    thread: int
    clock: int
    cpu_at_start: float
    used: float = 0.0
    """CPU seconds when it was interrupted; 0 if it was not."""


@dataclass(eq=False)
class CpuLimit:
    """The limit of all workflow tasks of a process."""

    max_cpu: float = MAX_CPU
    look: float = _LOOK
    """Seconds between two looks."""
    _tasks: dict[int, _Task] = field(default_factory=dict[int, _Task], init=False)
    """`{thread: its task}`."""
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _looks: bool = field(default=False, init=False)

    def run(self, work: Callable[[], T]) -> T:
        """Do the work of one task in this thread.

        Raises:
            TaskOverran: It was interrupted, whatever it made of that.
        """
        if not SEES_CPU:
            return _within_clock(work)
        task = self._begin()
        try:
            try:
                result = work()
            finally:
                self._end(task)
        except _Interruption:
            self._end(task)  # the first may have been interrupted before it was done
            raise TaskOverran(task.used) from None
        if task.used:
            raise TaskOverran(task.used)
        return result

    def _begin(self) -> _Task:
        thread = threading.get_ident()
        task = _Task(thread, time.pthread_getcpuclockid(thread), time.thread_time())
        self._tasks[thread] = task
        if not self._looks:
            self._start()
        return task

    def _end(self, task: _Task) -> None:
        """Stop watching: nothing interrupts this thread from now on."""
        with self._lock:
            self._tasks.pop(task.thread, None)
        if task.used:
            with suppress(_Interruption):
                for _ in range(100):  # what was raised and has not arrived, arrives here
                    time.sleep(0)

    def _start(self) -> None:
        with self._lock:
            if not self._looks:
                self._looks = True
                threading.Thread(target=self._look, name="workflow-cpu", daemon=True).start()

    def _look(self) -> None:
        while True:
            time.sleep(self.look)
            for task in list(self._tasks.values()):
                with suppress(OSError):  # its thread has ended
                    cpu_seconds = time.clock_gettime(task.clock) - task.cpu_at_start
                    if cpu_seconds > self.max_cpu:
                        self._interrupt(task, cpu_seconds)

    def _interrupt(self, task: _Task, cpu_seconds: float) -> None:
        """Interrupt a task, again and again if it catches that."""
        with self._lock:
            if self._tasks.get(task.thread) is task:
                task.used = cpu_seconds
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(task.thread), ctypes.py_object(_Interruption)
                )


def _within_clock(work: Callable[[], T]) -> T:
    """Do the work of one task, which the SDK interrupts by the clock."""
    began, cpu = time.monotonic(), time.thread_time()
    try:
        return work()
    except BaseException:
        if time.monotonic() - began < MAX_SECONDS:
            raise
        raise TaskOverran(time.thread_time() - cpu) from None


LIMIT = CpuLimit()
"""The limit of this process."""


def _max_seconds(worker: Any) -> float:
    """Return how long the SDK waits for a workflow task, by the runner of its workflows."""
    own = worker.__dict__.get(_FIELD, _SDK_SECONDS)
    return getattr(worker._workflow_runner, "max_task_seconds", own)


def _keep(worker: Any, seconds: float | None) -> None:
    worker.__dict__[_FIELD] = seconds


_FIELD = "_deadlock_timeout_seconds"

setattr(_WorkflowWorker, _FIELD, property(_max_seconds, _keep))
"""The SDK has no public setting. Only runners that say `max_task_seconds` have another limit."""
