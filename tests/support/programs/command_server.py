"""Runs `coterie` commands in processes that need not import anything: most of a command's time.

The server imports the command line once and forks for each command. So a command is a process of
its own, with its own folder, environment, arguments, standard files and exit code, as from a shell.
What a test leaves running (`Project.begin`, `Terminal`) starts as a shell starts it.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple, NoReturn

_PROGRAM = Path(sys.executable).parent / "coterie"
_PRELOADED = ("validate", "run", "start", "fork", "result", "show", "approve", "replay", "test")
_MAX_ORDER = 150_000
_INTERPRETER = "PYTHON"
"""How the variables begin that an interpreter reads when it starts."""


class _Order(NamedTuple):
    arguments: list[str]
    folder: str
    environment: dict[str, str]


class CommandServer:
    """Forks commands for one process of tests."""

    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        theirs.close()
        atexit.register(self.close)

    @staticmethod
    def takes(environment: Mapping[str, str]) -> bool:
        """Whether a command with these variables may run in an interpreter that has started."""
        names = {name for name in (*environment, *os.environ) if name.startswith(_INTERPRETER)}
        names -= {"PYTHONDONTWRITEBYTECODE"}
        return all(environment.get(name) == os.environ.get(name) for name in names)

    def run(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end, as `subprocess.run` does."""
        order = json.dumps(_Order([*arguments], str(folder), dict(environment))).encode()
        assert len(order) <= _MAX_ORDER
        source, target = os.pipe()
        with (
            open(source, "rb", buffering=0) as status,
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output,
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        ):
            socket.send_fds(self._orders, [order], [output.fileno(), errors.fileno(), target])
            os.close(target)
            code = _code(status.fileno(), arguments, seconds)
            output.seek(0)
            errors.seek(0)
            return subprocess.CompletedProcess([*arguments], code, output.read(), errors.read())

    def close(self) -> None:
        """End the server."""
        self._orders.close()
        self._process.wait(timeout=60)


@cache
def command_server() -> CommandServer:
    """The server of this process."""
    return CommandServer()


def _code(status: int, arguments: Sequence[str], seconds: float) -> int:
    """Wait for the exit code of a command; kill it when its time is over."""
    pid = _number(status)
    if not select.select([status], [], [], seconds)[0]:
        os.kill(pid, signal.SIGKILL)
        raise subprocess.TimeoutExpired([*arguments], seconds)
    return _number(status)


def _number(status: int) -> int:
    """Read a line with a number."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(status, 1)
        assert byte, "the server of commands broke down"
        line += byte
    return int(line)


def _serve(orders: socket.socket) -> None:
    """Take orders until nobody is left who gives one."""
    from coterie.commands.parser import load_command

    for verb in _PRELOADED:
        load_command(verb)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no child is waited for
    while True:
        order, files, _, _ = socket.recv_fds(orders, _MAX_ORDER, 3)
        if not order:
            return
        if os.fork() == 0:
            orders.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _follow(_Order(*json.loads(order)), *files)
        for file in files:
            os.close(file)


def _follow(order: _Order, output: int, errors: int, status: int) -> NoReturn:
    """Fork the command, and tell its number and its exit code."""
    pid = os.fork()
    if pid == 0:
        os.close(status)
        _become(order, output, errors)
    os.write(status, f"{pid}\n".encode())
    _, ended = os.waitpid(pid, 0)
    with suppress(BrokenPipeError):  # nobody waits for it any more
        os.write(status, f"{os.waitstatus_to_exitcode(ended)}\n".encode())
    os._exit(0)


def _become(order: _Order, output: int, errors: int) -> NoReturn:
    """Run the command in this process, as the script `coterie` does."""
    for standard, file in ((1, output), (2, errors)):
        os.dup2(file, standard)
        os.close(file)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    sys.path.insert(0, str(_PROGRAM.parent))
    sys.argv = [str(_PROGRAM), *order.arguments]
    from coterie.cli import main

    try:
        main()
    except SystemExit as left:
        sys.stdout.flush()
        os._exit(left.code if isinstance(left.code, int) else 0)
    finally:
        os._exit(120)  # no command returns


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
