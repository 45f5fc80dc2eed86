"""Start the watchdog of a worker, and stop it with the worker."""

import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from coterie.runtime.task_board import TaskBoard
from coterie.settings import Settings
from coterie.worker.blocked_run import worker_name
from coterie.worker.watchdog import MAX_TASK_CPU

_NAMES = ("PATH", "HOME", "LANG", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
_PREFIXES = ("COTERIE_", "TEMPORAL_", "PYTHON", "LC_")


@contextmanager
def watched(
    settings: Settings, board: TaskBoard, *, max_cpu: float = MAX_TASK_CPU
) -> Generator[None]:
    """Watch this process within the block; only on Linux, which reports a thread's CPU."""
    if not Path("/proc/self/task").is_dir():
        yield
        return
    arguments = (str(os.getpid()), worker_name(), str(board.path), str(max_cpu))
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "coterie.worker.watchdog", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=_environment(settings.environment),
        cwd=settings.cwd,
    )
    try:
        yield
    finally:
        if process.stdin is not None:
            process.stdin.close()
        process.wait()


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables needed to reach the server; no keys of providers."""
    return {
        name: value
        for name, value in environment.items()
        if name in _NAMES or name.startswith(_PREFIXES)
    }
