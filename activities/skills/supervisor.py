"""Run one command in a process group that dies with its worker; a script, not a module.

Usage: `python supervisor.py STATUS_FD INPUT_FD PROGRAM [ARGUMENT ...]`, as leader of a new session.

Standard input is a pipe that only the worker holds open: when it closes, however the worker
ended, the whole group is killed. The command reads INPUT_FD as its own standard input. What
happens is told on STATUS_FD in lines: `started`, then `exit CODE` (as a shell counts: 128 + N when
signal N ended it), or `failed REASON`.
"""

import os
import signal
import subprocess
import sys
import threading


def main() -> None:
    """Start the command, wait for it, tell how it ended."""
    status = int(sys.argv[1])
    # The group is asked to end with SIGTERM; this process stays to tell how the command ended.
    # A handler and not SIG_IGN, which the command would inherit.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stay)
    threading.Thread(target=_end_with_the_worker, daemon=True).start()
    try:
        command = subprocess.Popen(sys.argv[3:], stdin=int(sys.argv[2]))
    except OSError as error:
        os.write(status, f"failed {error.strerror}\n".encode())
        os._exit(127)
    os.write(status, b"started\n")
    code = command.wait()
    os.write(status, f"exit {code if code >= 0 else 128 - code}\n".encode())
    os._exit(0)


def _stay(number: int, frame: object) -> None:
    """A signal to the group is for the command."""


def _end_with_the_worker() -> None:
    while os.read(0, 1024):
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
