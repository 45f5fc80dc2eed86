"""Runs `coterie` commands in processes that need not import anything: most of a command's time.

The server imports the command line and builds its validators once, at the first command, and forks
for each. So a command is a process of its own, with its own folder, environment, arguments,
standard files, terminal and exit code, as from a shell. It waits for each, so that their time
counts as that of the tests.

A process of tests that is forked after it has made its server shares it with the others.
"""

import atexit
import fcntl
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol

PROGRAM = Path(sys.executable).parent / "coterie"
_PRELOADED = (
    *("validate", "run", "start", "fork", "result", "show", "approve", "replay", "test"),
    *("worker", "server", "watch"),
)
_LIBRARIES = {"serve": "coterie.mcp_server.client_protocols"}
"""What a command imports late, and takes long: MCP's library. Imported before its first fork."""
_MAX_ORDER = 150_000
_LAST_WAIT = 5
"""Seconds that the server waits for what still ends when nobody gives an order any more."""
_INTERPRETER = "PYTHON"
"""How the variables begin that an interpreter reads when it starts."""


class Running(Protocol):
    """A command that a test left running: a `Popen`, or one that the server has forked."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


class _Order(NamedTuple):
    arguments: list[str]
    folder: str
    environment: dict[str, str]
    terminal: bool


class ForkedCommand:
    """A command that the server has forked, with the interface of `Popen`."""

    def __init__(self, arguments: Sequence[str], status: int) -> None:
        self.args = [*arguments]
        self.returncode: int | None = None
        self._status = open(status, "rb", buffering=0)  # noqa: SIM115  closed at the end
        self.pid = _number(status)

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code."""
        code = self._look(timeout)
        if code is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # ended since
                os.kill(self.pid, sig)

    def terminate(self) -> None:
        """SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            self.returncode = _number(self._status.fileno())
            self._status.close()
        return self.returncode


class CommandServer:
    """Forks commands for a process of tests, and for those that are forked from that process."""

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

    def begin(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        files: tuple[int, int, int],
        *,
        terminal: bool = False,
    ) -> ForkedCommand:
        """Start a command.

        Args:
            arguments: What follows `coterie`.
            folder: Its working directory.
            environment: All its variables.
            files: Its standard input, output and error.
            terminal: Whether its input is a terminal that shall control a session of its own.
        """
        assert self.takes(environment)
        order = json.dumps(_Order([*arguments], str(folder), dict(environment), terminal)).encode()
        assert len(order) <= _MAX_ORDER
        source, target = os.pipe()
        socket.send_fds(self._orders, [order], [*files, target])
        os.close(target)
        return ForkedCommand(arguments, source)

    def run(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end, as `subprocess.run` does."""
        with (
            open(os.devnull, encoding="utf-8") as nothing,
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output,
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        ):
            files = (nothing.fileno(), output.fileno(), errors.fileno())
            command = self.begin(arguments, folder, environment, files)
            try:
                code = command.wait(seconds)
            except subprocess.TimeoutExpired:
                command.kill()
                raise
            output.seek(0)
            errors.seek(0)
            return subprocess.CompletedProcess([*arguments], code, output.read(), errors.read())

    def leave(self) -> None:
        """Give no more orders; the server ends when nobody is left who gives one."""
        self._orders.close()

    def close(self) -> None:
        """Leave, and wait for the server if this process started it."""
        self.leave()
        self._process.wait(timeout=60)


@cache
def command_server() -> CommandServer:
    """The server of this process, or the one that it shares since it was forked."""
    return CommandServer()


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
    while True:
        received, files, _, _ = socket.recv_fds(orders, _MAX_ORDER, 4)
        if not received:
            break
        order = _Order(*json.loads(received))
        _prepare(order.arguments[0] if order.arguments else "")
        if os.fork() == 0:
            orders.close()
            _follow(order, files)
        for file in files:
            os.close(file)
        _reap()
    end = time.monotonic() + _LAST_WAIT
    while _reap() and time.monotonic() < end:
        time.sleep(0.02)  # between two looks


def _prepare(command: str) -> None:
    """Import and build what most commands need, and what this one imports late."""
    _build()
    if command in _LIBRARIES:
        import_module(_LIBRARIES[command])
    gc.freeze()


@cache
def _build() -> None:
    from coterie.activities.tool_functions.function_registry import contracts
    from coterie.commands.parser import load_command
    from coterie.dsl.values import build_validators
    from coterie.workflows.core.state import state_adapter

    for verb in _PRELOADED:
        load_command(verb)
    build_validators()
    state_adapter()
    contracts()


def _reap() -> bool:
    """Take note of who has ended; whether anybody still runs."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _follow(order: _Order, files: list[int]) -> NoReturn:
    """Fork the command, and tell its number and its exit code."""
    *standard, status = files
    pid = os.fork()
    if pid == 0:
        os.close(status)
        _become(order, standard)
    for file in standard:
        os.close(file)
    with suppress(BrokenPipeError):  # nobody waits for it any more
        os.write(status, f"{pid}\n".encode())
        _, ended = os.waitpid(pid, 0)
        os.write(status, f"{os.waitstatus_to_exitcode(ended)}\n".encode())
    os._exit(0)


def _become(order: _Order, standard: list[int]) -> NoReturn:
    """Run the command in this process, as the script `coterie` does."""
    if order.terminal:
        os.setsid()
        fcntl.ioctl(standard[0], termios.TIOCSCTTY, 0)  # so that Ctrl-C reaches it
    for number, file in enumerate(standard):
        os.dup2(file, number)
        os.close(file)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    sys.path.insert(0, str(PROGRAM.parent))
    sys.argv = [str(PROGRAM), *order.arguments]
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
