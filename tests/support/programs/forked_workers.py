"""A plugin of pytest: the processes of pytest-xdist share what they import.

Each would import every file of tests for itself. So one process imports them, and forks for each
that pytest-xdist starts. Without that process they start as ever. They share its server of commands
(`command_server.py`), which imports nothing before the first command.
"""

import atexit
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import execnet
import pytest

if __name__ == "__main__":  # with `-P`, nothing but the environment's packages is on the path
    sys.path.append(str(Path(__file__).parents[3]))

from tests.support.programs.command_server import command_server

_SERVER = "imported-tests"
_COLLECT = ("--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=")


class ImportedTests:
    """The process that has imported the tests."""

    def __init__(self, files: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="coterie-tests-")
        self.address = str(Path(self._folder.name) / "socket")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.address)
            listening.listen()
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(listening.fileno()), *_COLLECT, *files],
                pass_fds=[listening.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
            )

    def pytest_unconfigure(self) -> None:
        """Wait for it, and so for all that it has forked: their time counts as that of the run."""
        self._process.communicate()
        self._folder.cleanup()


@pytest.hookimpl(optionalhook=True)  # none without pytest-xdist
def pytest_xdist_setupnodes(config: pytest.Config, specs: Sequence[execnet.XSpec]) -> None:
    """Have the processes forked."""
    if all(spec.popen and not spec.python for spec in specs):
        server = ImportedTests(config.args)
        config.pluginmanager.register(server, _SERVER)
        for spec in specs:
            spec.python = f"{sys.executable} -P {__file__} {server.address}"


def _ask(address: str, words: Sequence[str]) -> None:
    """Be the process that pytest-xdist has started: one that is forked, or else this one."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as asked:
        asked.connect(address)
        socket.send_fds(asked, [words[-1].encode()], [0, 1, 2])
        if asked.recv(1):
            asked.recv(1)  # until it has ended
            return
    os.execv(sys.executable, [sys.executable, *words])


def _serve(listening: socket.socket, arguments: Sequence[str]) -> str:
    """Import the tests, and fork until nobody is left who asks; return what a child executes."""
    pytest.main([*arguments])
    commands = command_server()  # before commands would inherit that they ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while listening in select.select([listening, sys.stdin], [], [])[0]:
        asked, _ = listening.accept()
        code, files, _, _ = socket.recv_fds(asked, 1000, 3)
        if os.fork() == 0:
            listening.close()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            asked.send(b"1")
            asked.detach()  # closed by the end of this process
            return code.decode()
        for file in files:
            os.close(file)
        asked.close()
    commands.leave()
    with suppress(ChildProcessError):
        while True:
            os.wait()
    return ""


def _execute(code: str) -> None:
    """Be a process of pytest-xdist to its end.

    Native libraries would end the threads that they had before the fork, and abort.
    """
    try:
        exec(code, vars(sys.modules["__main__"]))
    finally:
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    if sys.argv[1].isdigit():
        _code = _serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
        sys.modules["__main__"] = ModuleType("__main__")
        if _code:
            _execute(_code)
    else:
        _ask(sys.argv[1], sys.argv[2:])
