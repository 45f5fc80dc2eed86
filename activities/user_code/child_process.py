"""Start one child process for user code, under the same supervisor as commands.

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
from typing import Literal, NamedTuple

from activities.processes import supervisor
from activities.processes.bounded_output import BoundedOutput
from activities.processes.process_group import end_supervised, start_supervised
from activities.user_code.child_loop import NOTE
from dsl.visible import shortened_text

MAX_REPLY_BYTES = 8_000_000
"""Of one line; the limit for a run's history is lower and checked later."""

Notes = Callable[[bytes], Awaitable[bytes | None]]
"""Takes a note that a call sends before its reply; returns the answer, if it waits for one."""

_DRAIN_TIMEOUT = 1.0
Entry = Literal["child", "tool_child", "extension_child", "provider_child"]
"""The module of this package that a child runs: for legacy agents, tools, agent types, providers.
"""

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from activities.user_code.{entry} import main; main()"
)


class ChildEnded(Exception):
    """The child ended during a call; the message says how."""


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
        self._drained = asyncio.create_task(self._drain())
        self._ended = asyncio.create_task(self._wait_for_end())
        self.imported: set[str] = set()
        """The user's modules that it has imported."""

    @classmethod
    async def start(
        cls,
        entry: Entry,
        import_path: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
    ) -> "ChildProcess":
        """Start a child.

        Args:
            entry: What it runs.
            import_path: Its `sys.path`.
            environment: Its complete environment.
            folder: Its working directory.

        Raises:
            OSError: The system has no more processes or files.
        """
        boot = _BOOT.format(entry=entry)
        command = (sys.executable, "-P", "-c", boot, json.dumps(import_path))
        process, calls, status_pipe = await _start_connected(command, environment, folder)
        try:
            status = await _reading(status_pipe)
            channel = await asyncio.open_unix_connection(sock=calls, limit=MAX_REPLY_BYTES)
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
            ReplyTooLarge: More than `MAX_REPLY_BYTES`.
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
        raise ChildEnded(f"{self._ended.result()}{self._last_words()}")

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

    async def _wait_for_end(self) -> str:
        """Return how it ended, as reported by the supervisor."""
        while line := (await self._status.readline()).decode().strip():
            word, _, rest = line.partition(" ")
            if word == "exit":
                return _exit_text(int(rest))
            if word == "failed":
                return f"could not start ({rest})"
        return "was killed"

    def _last_words(self) -> str:
        lines = [line for line in self._output.text().splitlines() if line.strip()]
        last = shortened_text(lines[-1].strip(), 300) if lines else ""
        return f"; the last line of its output: {last}" if lines else ""


def _exit_text(code: int) -> str:
    """Describe an exit code as a shell counts, with the signal's name."""
    with suppress(ValueError):
        if code > 128:
            return f"was ended by {signal.Signals(code - 128).name}"
    return f"ended with exit code {code}"


class _Started(NamedTuple):
    """A child that runs, and our ends of what connects it."""

    process: asyncio.subprocess.Process
    calls: socket.socket
    status: int
    """The descriptor at which its supervisor reports how it ended."""


async def _start_connected(
    command: Sequence[str], environment: Mapping[str, str], folder: Path
) -> _Started:
    """Start a command under a supervisor, with a socket for its calls and a pipe for its status."""
    ours, theirs = socket.socketpair()
    reader, writer = os.pipe()
    try:
        process = await start_supervised(
            (str(writer), str(theirs.fileno()), supervisor.UNLIMITED, *command),
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
