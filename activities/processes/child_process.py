"""Start one child process that answers calls, under the same supervisor as commands.

It leads a session of its own. It and all its descendants are killed when a call is cancelled or
takes too long, when the child ends, and when the worker itself is killed.
"""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from coterie.activities.processes import supervisor
from coterie.activities.processes.bounded_output import BoundedOutput
from coterie.activities.processes.child_loop import NOTE
from coterie.activities.processes.supervised_process import end_supervised, start_supervised
from coterie.dsl.visible import shortened_text

MAX_REPLY_BYTES = 8_000_000
"""Of one line; the limit for a run's history is lower and checked later."""

Notes = Callable[[bytes], Awaitable[bytes | None]]
"""Takes a note that a call sends before its reply; returns the answer, if it waits for one."""

_DRAIN_TIMEOUT = 1.0


def boot_code(entry: str) -> str:
    """Return the code of a process that runs the `main` of a module of ours.

    Its first argument is its `sys.path` as JSON. What it imports stays, so no collection looks
    through it, now or later: a tenth of the time of a start.
    """
    return (
        "import gc, json, sys; gc.disable(); sys.path[:] = json.loads(sys.argv[1]); "
        f"from {entry} import main; gc.freeze(); gc.enable(); main()"
    )


class ChildEnded(Exception):
    """The child ended during a call; the message says how."""

    def __init__(self, how: str, by: signal.Signals | None) -> None:
        super().__init__(how)
        self.by = by
        """The signal that ended it."""


class ReplyTooLarge(Exception):
    """The child's reply exceeds the limit of one line."""


class ChildProcess:
    """A child that waits for calls or executes one."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        channel: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        status: tuple[asyncio.StreamReader, asyncio.BaseTransport],
    ) -> None:
        self._process = process
        self._replies, self._calls = channel
        self._status, self._status_transport = status
        self._output = BoundedOutput(head=2_000, tail=8_000)
        self._group: int | None = None
        self._is_paused = False
        self._drained = asyncio.create_task(self._drain())
        self._ended = asyncio.create_task(self._wait_for_end())
        self.imported: set[str] = set()
        """The user's modules that it has imported."""

    @classmethod
    async def start(
        cls,
        entry: str,
        import_path: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        apart: bool = False,
        max_reply: int = MAX_REPLY_BYTES,
    ) -> "ChildProcess":
        """Start a child.

        Args:
            entry: The module whose `main` it runs.
            import_path: Its `sys.path`.
            environment: Its complete environment.
            folder: Its working directory.
            apart: It can be paused.
            max_reply: Bytes of one reply.

        Raises:
            OSError: The system has no more processes or files.
        """
        command = (sys.executable, "-P", "-c", boot_code(entry), json.dumps(import_path))
        limits = supervisor.APART if apart else supervisor.UNLIMITED
        process, calls, status_pipe = await _start_connected(command, environment, folder, limits)
        try:
            status = await _reading(status_pipe)
            channel = await asyncio.open_unix_connection(sock=calls, limit=max_reply)
        except BaseException:
            await end_supervised(process)
            raise
        return cls(process, channel, status)

    @property
    def alive(self) -> bool:
        """Whether it can take a call."""
        return not self._ended.done()

    async def call(self, request: bytes, notes: Notes | None = None) -> bytes:
        """Send one line, and return the reply.

        Args:
            request: The line.
            notes: Takes what the call sends before its reply; it may raise.

        Raises:
            ChildEnded: Its process ended instead.
            ReplyTooLarge: More bytes than it may have.
        """
        replying = asyncio.create_task(self._reply(request, notes))
        try:
            await asyncio.wait({replying, self._ended}, return_when="FIRST_COMPLETED")
            reply = replying.result() if replying.done() else b""
        finally:
            replying.cancel()
            await asyncio.wait([replying])
        if reply.endswith(b"\n"):
            return reply
        await self.kill()
        end = self._ended.result()
        raise ChildEnded(f"{end.text()}{self._last_words()}", end.signal())

    def set_paused(self, paused: bool) -> None:
        """Pause or continue its process group; it must have been started apart."""
        self._is_paused = paused
        if self._group is not None and self.alive:
            with suppress(ProcessLookupError):
                os.killpg(self._group, signal.SIGSTOP if paused else signal.SIGCONT)

    async def cancel(self, seconds: float) -> None:
        """Tell the call that it is cancelled, and wait for its reply, at most this long."""
        with suppress(TimeoutError, ReplyTooLarge):
            async with asyncio.timeout(seconds):
                await self._reply(b'{"cancel": true}\n', None)

    async def _reply(self, request: bytes, notes: Notes | None) -> bytes:
        try:
            await self._send(request)
            while (line := await self._line()).startswith(NOTE):
                answer = None if notes is None else await notes(line.removeprefix(NOTE))
                if answer is not None:
                    await self._send(answer)
            return line
        except OSError:
            await asyncio.wait([self._ended])  # a broken pipe: the child ended
            return b""

    async def _send(self, line: bytes) -> None:
        self._calls.write(line)
        await self._calls.drain()

    async def _line(self) -> bytes:
        try:
            return await self._replies.readline()
        except ValueError:
            raise ReplyTooLarge from None

    async def kill(self) -> None:
        """Kill it and everything that it started, even if the caller is cancelled meanwhile."""
        self._calls.close()
        await end_supervised(self._process)
        await asyncio.wait({self._drained}, timeout=_DRAIN_TIMEOUT)
        self._drained.cancel()
        await asyncio.wait({self._drained, self._ended})
        self._status_transport.close()

    async def _drain(self) -> None:
        assert self._process.stdout is not None
        while chunk := await self._process.stdout.read(65_536):
            self._output.take(chunk)

    async def _wait_for_end(self) -> "_End":
        """Return how it ended, as reported by the supervisor."""
        while line := (await self._status.readline()).decode().strip():
            word, _, rest = line.partition(" ")
            match word:
                case "started":
                    self._group = int(rest)
                    if self._is_paused:
                        os.killpg(self._group, signal.SIGSTOP)
                case "exit":
                    return _End(code=int(rest))
                case _:
                    return _End(failure=rest)
        return _End()

    def _last_words(self) -> str:
        lines = [line for line in self._output.text().splitlines() if line.strip()]
        last = shortened_text(lines[-1].strip(), 300) if lines else ""
        return f"; the last line of its output: {last}" if lines else ""


class _End(NamedTuple):
    """How a child ended; without a code and a failure it was killed."""

    code: int | None = None
    """As a shell counts."""
    failure: str | None = None
    """Why it did not start."""

    def text(self) -> str:
        """Return how it ended, for people."""
        if self.failure is not None:
            return f"could not start ({self.failure})"
        if self.code is None:
            return "was killed"
        by = self.signal()
        return f"ended with exit code {self.code}" if by is None else f"was ended by {by.name}"

    def signal(self) -> signal.Signals | None:
        """Return the signal that ended it."""
        with suppress(ValueError):
            if self.code is not None and self.code > 128:
                return signal.Signals(self.code - 128)
        return None


async def kill_child(child: ChildProcess) -> None:
    """Kill a child, even if the caller is cancelled meanwhile."""
    killing = asyncio.create_task(child.kill())
    try:
        await asyncio.shield(killing)
    except asyncio.CancelledError:
        while not killing.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(killing)
        raise


class _Started(NamedTuple):
    """A child that runs, and our ends of what connects it."""

    process: asyncio.subprocess.Process
    calls: socket.socket
    status: int
    """The descriptor at which its supervisor reports how it ended."""


async def _start_connected(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, limits: str
) -> _Started:
    """Start a command under a supervisor, with a socket for its calls and a pipe for its status."""
    ours, theirs = socket.socketpair()
    reader, writer = os.pipe()
    try:
        process = await start_supervised(
            (str(writer), str(theirs.fileno()), limits, *command),
            cwd=folder,
            environment=environment,
            pass_fds=(writer, theirs.fileno()),
        )
    except BaseException:
        ours.close()
        os.close(reader)
        raise
    finally:
        theirs.close()
        os.close(writer)
    return _Started(process, ours, reader)


async def _reading(descriptor: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    return reader, transport
