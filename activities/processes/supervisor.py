"""Run one command that ends with all its descendants, and with its worker; a script, no module.

Usage: `python supervisor.py STATUS_FD INPUT_FD LIMITS PROGRAM [ARGUMENT ...]`, as leader of a new
session. LIMITS are numbers joined by commas, 0 for none: `APART,CPU,MEMORY,PROCESSES,FILE`. APART
is 1 when the program gets a group of its own: a sandbox, or a process that its worker pauses; CPU
is seconds of each process, MEMORY bytes and PROCESSES the number of all together, FILE bytes of
each file.

Standard input is a pipe that only the worker holds open: when it closes, however the worker ended,
the command is killed. The command reads INPUT_FD as its own standard input. Linux gives orphans to
this process, so that it finds and kills every descendant of the command, also one in a session of
its own; elsewhere it kills the group. The script reports to STATUS_FD in lines: `started PID`, then
`exit CODE` (as a shell counts: 128 + N when signal N ended it), `limit NAME`, or `failed REASON`.
When it reports the end, no descendant is left.
"""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

UNLIMITED = "0,0,0,0,0"
"""LIMITS for no limits."""
APART = "1,0,0,0,0"
"""LIMITS for a group of its own."""
_LOOK = 0.1
"""Seconds between two checks of memory and processes."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_ADOPTS = sys.platform == "linux"
_PR_SET_CHILD_SUBREAPER = 36
_END_SECONDS = 3.0
"""How long descendants are looked for; one that the kernel cannot end stays."""
_END_LOOK = 0.001


class Supervisor:
    """One command and its limits."""

    def __init__(self, status: int, limits: str) -> None:
        """Take the descriptor for reports, and the limits as text."""
        self._status = status
        apart, self._cpu, self._memory, self._processes, self._file = map(int, limits.split(","))
        self._apart = bool(apart)
        self._command: subprocess.Popen[bytes] | None = None
        self._ending = threading.Lock()

    def run(self, given: int, argv: list[str]) -> None:
        """Start the command, wait for it, and report how it ended."""
        # A group receives SIGTERM first; this process survives it to report how the command ended.
        # A handler and not SIG_IGN, which the command would inherit.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._pass_on)
        self._bound()
        _adopt_orphans()
        threading.Thread(target=self._end_with_the_worker, daemon=True).start()
        try:
            command = subprocess.Popen(argv, stdin=given, process_group=0 if self._apart else None)
        except OSError as error:
            self._report(f"failed {error.strerror}")
            os._exit(127)
        self._command = command
        self._report(f"started {command.pid}")
        if self._memory or self._processes:
            threading.Thread(target=self._watch, daemon=True).start()
        code = _wait_for(command.pid)
        self._end(f"exit {code if code >= 0 else 128 - code}")

    def _report(self, line: str) -> None:
        os.write(self._status, f"{line}\n".encode())

    def _pass_on(self, number: int, frame: object) -> None:
        """Pass a group's signal on to the command, whose sandboxed processes have another group."""
        if self._apart and self._command is not None:
            _, *below = _family(self._command.pid)
            for pid in below:
                _send(pid, number)

    def _bound(self) -> None:
        """Set the per-process limits on this process and everything that it starts."""
        bounds = [
            (resource.RLIMIT_CORE, 0, 0),
            (resource.RLIMIT_CPU, self._cpu, self._cpu + 2),
            (resource.RLIMIT_DATA, self._memory, self._memory),
            (resource.RLIMIT_FSIZE, self._file, self._file),
        ]
        for kind, soft, hard in bounds:
            _, maximum = resource.getrlimit(kind)
            if kind != resource.RLIMIT_CORE and not soft:
                continue
            if maximum != resource.RLIM_INFINITY:
                soft, hard = min(soft, maximum), min(hard, maximum)
            resource.setrlimit(kind, (soft, hard))

    def _watch(self) -> None:
        """Kill everything when all processes together exceed a limit."""
        while True:
            time.sleep(_LOOK)
            _, *family = _family(os.getpid())
            if self._processes and len(family) > self._processes:
                self._end("limit processes")
            if self._memory and sum(map(_memory_of, family)) > self._memory:
                self._end("limit memory")

    def _end_with_the_worker(self) -> None:
        with suppress(OSError):
            while os.read(0, 1024):
                pass
        self._end(None)

    def _end(self, report: str | None) -> None:
        """Kill every descendant, report, and end this process. The first caller decides."""
        with self._ending:
            _end_descendants()
            if report is not None:
                self._report(report)
            if not _ADOPTS:
                if self._apart and self._command is not None:
                    _send(-self._command.pid, signal.SIGKILL)
                os.killpg(os.getpgrp(), signal.SIGKILL)
            os._exit(0)


def _adopt_orphans() -> None:
    """Become the parent of orphaned descendants, where the system can do that."""
    if _ADOPTS:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait_for(command: int) -> int:
    """Wait for the command, and meanwhile for the orphans; return its exit code."""
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:  # another thread ends everything
            return -signal.SIGKILL
        if pid == command:
            return os.waitstatus_to_exitcode(status)


def _end_descendants() -> None:
    """Stop all descendants, so that none of them starts another one; then kill them."""
    stopped: set[int] = set()
    until = time.monotonic() + _END_SECONDS
    while time.monotonic() < until:
        descendants = set(_family(os.getpid())[1:])
        if not descendants:
            return
        for pid in descendants - stopped:
            _send(pid, signal.SIGSTOP)
        if descendants <= stopped:
            for pid in descendants:
                _send(pid, signal.SIGKILL)
            _bury()
            time.sleep(_END_LOOK)
        stopped |= descendants


def _bury() -> None:
    """Take the exit status of every dead child, which exists until then."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _family(pid: int) -> list[int]:
    """List a process and its descendants; only itself where /proc is missing."""
    family: list[int] = []
    todo = [pid]
    while todo:
        member = todo.pop()
        family.append(member)
        try:
            for thread in os.listdir(f"/proc/{member}/task"):
                with open(f"/proc/{member}/task/{thread}/children", encoding="ascii") as file:
                    todo += map(int, file.read().split())
        except OSError:
            continue  # it has ended
    return family


def _memory_of(pid: int) -> int:
    """Return the private memory of a process in bytes."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            _, resident, shared, *_ = map(int, file.read().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * _PAGE


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return


if __name__ == "__main__":
    Supervisor(int(sys.argv[1]), sys.argv[3]).run(int(sys.argv[2]), sys.argv[4:])
