"""The command line as people meet it: a shared desk with an embedded server, and a terminal."""

import asyncio
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from coterie.failures import CommandError
from coterie.runs.run_client import Run
from tests.support.places import DATA
from tests.support.programs.command_server import Running, command_server
from tests.support.project import Project

DESK = DATA / "desk"
"""A project with small teams: article, chore, failing, patience."""


def sentence(done: "subprocess.CompletedProcess[str]") -> str:
    """What a command said that failed by a person's mistake: a sentence, never a traceback."""
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    assert done.stderr.strip(), "it said nothing"
    return done.stderr


async def asks(desk: Project, run: str, request: str = "review/sign_off#1") -> None:
    """Wait until the run asks for this decision; it may not even have begun yet."""
    end = time.monotonic() + 120
    while True:
        assert not desk.failed(), f"a command failed before {run} asked:\n{desk.logs()}"
        try:
            if request in [one.id for one in await Run(await desk.client(), run).pending()]:
                return
        except (CommandError, FileNotFoundError):
            pass
        assert time.monotonic() < end, f"{run} does not ask for {request}:\n{desk.logs()}"
        await asyncio.sleep(0.1)  # between two looks


def together(desk: Project, *calls: tuple[str, ...]) -> "list[subprocess.CompletedProcess[str]]":
    """Commands at the same time; what each came to, in their order."""
    with ThreadPoolExecutor(len(calls)) as threads:
        return [begun.result() for begun in [threads.submit(desk.coterie, *c) for c in calls]]


def without_size(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment that tells nothing of a terminal's size."""
    return {key: value for key, value in environment.items() if key not in ("COLUMNS", "LINES")}


class Terminal:
    """A command in a terminal of its own, where a person types."""

    def __init__(self, desk: Project, *arguments: str) -> None:
        ours, theirs = pty.openpty()
        # Wide enough that no line of ours is wrapped.
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        # Without the size of the terminal that the tests run in: this one has its own.
        environment = {**without_size(desk.environment), "TERM": "xterm"}
        files = (theirs, theirs, theirs)
        self._process = command_server().begin(
            arguments, desk.folder, environment, files, terminal=True
        )
        os.close(theirs)
        self._file = ours
        self.shown = ""

    def wait_for(self, text: str, seconds: float = 60) -> None:
        """Read until the screen has shown the text."""
        end = time.monotonic() + seconds
        while text not in self.shown:
            assert time.monotonic() < end, f"no {text!r} in:\n{self.shown[-2000:]}"
            assert self._read(0.1) or self._process.poll() is None, self.shown[-2000:]

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self._file, f"{text}\n".encode())

    def press_ctrl_c(self) -> None:
        """Interrupt."""
        os.write(self._file, b"\x03")

    def press_ctrl_d(self) -> None:
        """Close the input."""
        os.write(self._file, b"\x04")

    def ended(self, seconds: float = 60) -> int:
        """Read to the end; the exit code."""
        end = time.monotonic() + seconds
        while self._process.poll() is None:
            assert time.monotonic() < end, f"it does not end:\n{self.shown[-2000:]}"
            self._read(0.1)
        while self._read(0.1):
            pass
        return self._process.wait()

    def close(self) -> None:
        """End whatever still runs there."""
        self._process.kill()
        self._process.wait()
        os.close(self._file)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._file], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._file, 65536)
        except OSError:  # the other end is closed
            return False
        self.shown += data.decode(errors="replace")
        return bool(data)


@contextmanager
def terminal(desk: Project, *arguments: str) -> Generator[Terminal]:
    """A command in a terminal, ended at the end."""
    made = Terminal(desk, *arguments)
    try:
        yield made
    finally:
        made.close()


def interrupt(process: Running) -> int:
    """Ctrl-C; the exit code."""
    process.send_signal(signal.SIGINT)
    return process.wait(timeout=60)
