"""Run a command so that nothing of it outlives the call: POSIX process groups.

The command runs under `supervisor.py`, in a session of its own. When it ended, ran out of time
or was cancelled, and when the worker itself is killed, every process of its group is killed.
(A process that makes itself the leader of another session gets away, as everywhere.)
"""

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from activities.skills.bounded_output import BoundedOutput

GRACE = 1.5
"""Seconds between SIGTERM and SIGKILL."""
_DRAIN = 1.0
"""Seconds for the last output, when somebody who left the group still holds the pipe."""
_SUPERVISOR = Path(__file__).with_name("supervisor.py")


class NotStarted(Exception):
    """The program could not be started; the message is the system's reason."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    exit_code: int | None
    """As a shell counts; None when it had to be killed."""
    timed_out: bool
    seconds: float


async def run_group(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    seconds: float,
    output: BoundedOutput,
    keeping: Sequence[int] = (),
    given: bytes | None = None,
) -> Ended:
    """Run a command to its end, and end it when the time is over or the caller is cancelled.

    Args:
        argv: Program and arguments; no shell.
        cwd: Working directory.
        environment: All that the command sees of it.
        seconds: How long it may take.
        output: Takes standard output and standard error, in the order they are written.
        keeping: Descriptors that stay open until nothing watches over the command any more.
        given: What it reads from its standard input; nothing unless given.

    Raises:
        NotStarted: there is no such program, or it cannot be run.
    """
    stop = asyncio.Event()
    run = asyncio.create_task(_run(argv, cwd, environment, seconds, output, stop, keeping, given))
    try:
        return await asyncio.shield(run)
    except asyncio.CancelledError:
        # Cancelled while the process starts or ends, too: the task sees to it that all is over.
        stop.set()
        while not run.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([run])
        if not run.cancelled():
            run.exception()
        raise


async def _run(
    argv: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    seconds: float,
    output: BoundedOutput,
    stop: asyncio.Event,
    keeping: Sequence[int],
    given: bytes | None,
) -> Ended:
    begun = time.monotonic()
    process, status = await _start(argv, cwd, environment, keeping, given)
    reading = asyncio.create_task(_drain(process, output))
    stopping = asyncio.create_task(stop.wait())
    ending = asyncio.create_task(status.ended())
    try:
        await asyncio.wait({ending, stopping}, timeout=seconds, return_when="FIRST_COMPLETED")
        timed_out = not ending.done() and not stopping.done()
        if not ending.done():
            _signal(process, signal.SIGTERM)
            await asyncio.wait({ending}, timeout=GRACE)
    finally:
        _signal(process, signal.SIGKILL)
        stopping.cancel()
        await asyncio.wait({ending, stopping})
        await _finish(process, reading)
        status.close()
    return Ended(
        exit_code=status.exit_code(),
        timed_out=timed_out,
        seconds=round(time.monotonic() - begun, 3),
    )


async def _start(
    argv: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    keeping: Sequence[int],
    given: bytes | None,
) -> tuple[asyncio.subprocess.Process, "_Status"]:
    """The supervisor as a process, and its reports."""
    reader, writer = os.pipe()
    reads = _as_file(given)
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(_SUPERVISOR), str(writer), str(reads), *argv),
            cwd=cwd,
            env=dict(environment),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=(writer, reads, *keeping),
            start_new_session=True,
        )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
        os.close(reads)
    return process, await _Status.open(reader)


def _as_file(given: bytes | None) -> int:
    """A file to read it from: a pipe could be full before the command reads."""
    if given is None:
        return os.open(os.devnull, os.O_RDONLY)
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.flush()
        file.seek(0)
        return os.dup(file.fileno())


class _Status:
    """What the supervisor reports."""

    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.BaseTransport) -> None:
        self._reader = reader
        self._transport = transport
        self._last = ""

    @classmethod
    async def open(cls, descriptor: int) -> "_Status":
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
        )
        return cls(reader, transport)

    async def ended(self) -> None:
        """Wait until the command ended, could not be started, or was killed."""
        while line := (await self._reader.readline()).decode().strip():
            self._last = line
            if line != "started":
                return

    def exit_code(self) -> int | None:
        """What was reported last.

        Raises:
            NotStarted: the program could not be started.
        """
        word, _, rest = self._last.partition(" ")
        if word == "failed":
            raise NotStarted(rest)
        return int(rest) if word == "exit" else None

    def close(self) -> None:
        self._transport.close()


async def _drain(process: asyncio.subprocess.Process, output: BoundedOutput) -> None:
    assert process.stdout is not None
    while chunk := await process.stdout.read(65_536):
        output.take(chunk)


async def _finish(process: asyncio.subprocess.Process, reading: asyncio.Task[None]) -> None:
    """Take the last output and the exit status; the group is dead."""
    await asyncio.wait({reading}, timeout=_DRAIN)
    reading.cancel()
    await asyncio.wait({reading})
    if process.stdin is not None:
        process.stdin.close()
    await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """To the whole group; the group's number is its leader's, as it leads its own session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
