"""`python -m coterie.worker.watchdog`: kill a worker that one workflow task blocks.

It is a separate process, because no thread can run while another one holds the interpreter's lock.
It uses the CPU time of the task's thread, never the clock, so a frozen machine blames nobody. The
worker's supervisor starts another one.
"""

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from coterie.activities.processes.process_privacy import keep_to_itself
from coterie.runtime.task_board import BoardReader, WorkflowTask

MAX_TASK_CPU = 10.0
"""Seconds; the SDK interrupts a workflow task after two, if it can."""

_EVERY = 0.5
_REPORT_TIMEOUT = 30.0


class Watched(NamedTuple):
    """A worker process, and the CPU limit of one workflow task."""

    pid: int
    worker: str
    """Its name for people."""
    board: Path
    max_cpu: float


def thread_cpu(pid: int, thread: int) -> float | None:
    """Return the CPU seconds of a thread of another process; None if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/task/{thread}/stat").read_text()
    except OSError:
        return None
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def blocking(reader: BoardReader, pid: int, max_cpu: float) -> tuple[WorkflowTask, float] | None:
    """Return the task that exceeded the CPU limit, and its CPU seconds."""
    for task in reader.tasks():
        now = thread_cpu(pid, task.thread)
        cpu_seconds = 0.0 if now is None else now - task.cpu_at_start
        if cpu_seconds > max_cpu and reader.goes_on(task):
            return task, cpu_seconds
    return None


def watch(watched: Watched) -> None:
    """Watch the worker until it ends, or must be killed."""
    reader = BoardReader(watched.board)
    watched.board.unlink(missing_ok=True)  # both have it mapped; a killed worker leaves no file
    while not _worker_ended(_EVERY):
        overrun = blocking(reader, watched.pid, watched.max_cpu)
        if overrun is None:
            continue
        task, cpu_seconds = overrun
        _write(
            f"run {task.workflow_id} took {cpu_seconds:.0f} s of CPU in one workflow task; "
            f"this worker is killed, for its supervisor to restart it"
        )
        _report(watched, task, cpu_seconds)
        if reader.goes_on(task):
            with suppress(ProcessLookupError):
                os.kill(watched.pid, signal.SIGKILL)
            return


def _worker_ended(seconds: float) -> bool:
    """Wait, and return whether the worker closed our input by ending."""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


def _report(watched: Watched, task: WorkflowTask, cpu_seconds: float) -> None:
    """Record it in the run's history; terminate the run the second time."""
    program = (sys.executable, "-P", "-m", "coterie.worker.blocked_run")
    command = [*program, task.workflow_id, task.run_id, watched.worker, f"{cpu_seconds:.0f}"]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=_REPORT_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        _write(f"could not report run {task.workflow_id} to the server: {error}")


def _write(text: str) -> None:
    sys.stderr.write(f"watchdog: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    # it ends with its worker, which may take time to stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_to_itself()
    pid, worker, board, max_cpu = sys.argv[1:]
    watch(Watched(int(pid), worker, Path(board), float(max_cpu)))
