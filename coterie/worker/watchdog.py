"""`python -m coterie.worker.watchdog`: ends a worker that one workflow task blocks.

A process of its own, since a thread cannot run while another one holds the interpreter's lock. It
judges by the CPU time of the task's thread, never by the clock: a machine that was frozen condemns
nobody. Who supervises the worker starts another one.
"""

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from coterie.runtime.task_board import BoardReader, WorkflowTask
from coterie.worker.process_privacy import keep_to_itself

MAX_TASK_CPU = 10.0
"""Seconds; the SDK interrupts a workflow task after two, where it can."""

_EVERY = 0.5
_REPORT_TIMEOUT = 30.0


class Watched(NamedTuple):
    """A worker process, and how much CPU one of its workflow tasks may take."""

    pid: int
    worker: str
    """Its name for people."""
    board: Path
    max_cpu: float


def thread_cpu(pid: int, thread: int) -> float | None:
    """CPU seconds of a thread of another process; None when it has ended."""
    try:
        stat = Path(f"/proc/{pid}/task/{thread}/stat").read_text()
    except OSError:
        return None
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def blocking(reader: BoardReader, pid: int, max_cpu: float) -> tuple[WorkflowTask, float] | None:
    """The task that has taken too much CPU, and how much."""
    for task in reader.tasks():
        now = thread_cpu(pid, task.thread)
        used = 0.0 if now is None else now - task.cpu_at_start
        if used > max_cpu and reader.goes_on(task):
            return task, used
    return None


def watch(watched: Watched) -> None:
    """Look at the worker until it ends, or has to be ended."""
    reader = BoardReader(watched.board)
    while not _worker_ended(_EVERY):
        found = blocking(reader, watched.pid, watched.max_cpu)
        if found is None:
            continue
        task, used = found
        _tell(
            f"the run {task.workflow_id} has taken {used:.0f} s of CPU in one workflow task; "
            f"this worker is ended, for its supervisor to start it again"
        )
        _report(watched, task, used)
        if reader.goes_on(task):
            with suppress(ProcessLookupError):
                os.kill(watched.pid, signal.SIGKILL)
            return


def _worker_ended(seconds: float) -> bool:
    """Wait; whether the other end of our input is closed, which its death does."""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


def _report(watched: Watched, task: WorkflowTask, used: float) -> None:
    """Have the run's history say so; the second time, it is terminated."""
    program = (sys.executable, "-P", "-m", "coterie.worker.blocked_run")
    command = [*program, task.workflow_id, task.run_id, watched.worker, f"{used:.0f}"]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=_REPORT_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        _tell(f"the server could not be told of the run {task.workflow_id}: {error}")


def _tell(text: str) -> None:
    sys.stderr.write(f"watchdog: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with its worker, which may have grace
    keep_to_itself()
    pid, worker, board, max_cpu = sys.argv[1:]
    watch(Watched(int(pid), worker, Path(board), float(max_cpu)))
