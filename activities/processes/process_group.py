"""Run a command so that none of its processes outlives the call.

The command runs under `supervisor.py`, in a session of its own. When it ends, runs out of time or
is cancelled, and when the worker itself is killed, all its descendants are killed, on Linux also
those in a session of their own.
"""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coterie.activities.processes.bounded_output import BoundedOutput
from coterie.activities.processes.supervised_process import end_supervised, start_supervised

GRACE = 1.5
"""Seconds between SIGTERM and SIGKILL."""
_DRAIN = 1.0
"""Seconds to wait for the last output, when a process outside the group still holds the pipe."""


class NotStarted(Exception):
    """The program could not start; the message is the system's reason."""


Limit = Literal["cpu", "memory", "processes", "output"]


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Resources that a command may use; exceeding one ends it."""

    cpu: int = 3600
    """CPU seconds of each process."""
    memory: int = 8 << 30
    """Bytes of all its processes together, and of each."""
    processes: int = 1000
    output: int = 1 << 30
    """Bytes that it prints, and bytes of each file that it writes."""


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended."""

    exit_code: int | None
    """As a shell counts; None when it was killed."""
    timed_out: bool
    seconds: float
    limit: Limit | None = None
    """The limit that it exceeded."""


_OVER_CPU = 128 + signal.SIGXCPU
_OVER_FILE = 128 + signal.SIGXFSZ


async def run_group(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    seconds: float,
    output: BoundedOutput,
    keeping: Sequence[int] = (),
    given: bytes | None = None,
    limits: ProcessLimits | None = None,
    apart: bool = False,
) -> CommandEnd:
    """Run a command to its end, and kill it on timeout or cancellation.

    Args:
        argv: Program and arguments; no shell.
        cwd: Working directory.
        environment: The command's complete environment.
        seconds: Timeout.
        output: Receives standard output and standard error, in the order they are written.
        keeping: Descriptors that stay open until the command's group is gone.
        given: Standard input; default: empty.
        limits: Resource limits; default: none.
        apart: The program is a sandbox, which ends all its processes when it ends.

    Raises:
        NotStarted: The program does not exist, or cannot be run.
    """
    stop = asyncio.Event()
    started = _start(argv, cwd, environment, keeping, given, _limits_text(limits, apart=apart))
    maximum = limits.output if limits else None
    run = asyncio.create_task(_run(started, seconds, output, maximum, stop))
    try:
        return await asyncio.shield(run)
    except asyncio.CancelledError:
        # The task finishes the cleanup even if cancellation comes while the process starts or ends.
        stop.set()
        while not run.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([run])
        run.exception()  # nobody else asks for it, and it would be reported as never retrieved
        raise


def _limits_text(limits: ProcessLimits | None, *, apart: bool) -> str:
    """Format the limits for `supervisor.py`."""
    numbers = (
        (0, 0, 0, 0)
        if limits is None
        else (limits.cpu, limits.memory, limits.processes, limits.output)
    )
    return ",".join(map(str, (int(apart), *numbers)))


async def _run(
    started: "Coroutine[None, None, tuple[asyncio.subprocess.Process, _Status]]",
    seconds: float,
    output: BoundedOutput,
    maximum: int | None,
    stop: asyncio.Event,
) -> CommandEnd:
    begun = time.monotonic()
    process, status = await started
    flooded = asyncio.Event()
    reading = asyncio.create_task(_drain(process, output, maximum, flooded))
    stopping = asyncio.create_task(stop.wait())
    flooding = asyncio.create_task(flooded.wait())
    ending = asyncio.create_task(status.ended())
    reasons = {ending, stopping, flooding}
    try:
        await asyncio.wait(reasons, timeout=seconds, return_when="FIRST_COMPLETED")
        timed_out = not any(reason.done() for reason in reasons)
        if not ending.done():
            _signal(process, signal.SIGTERM)
            await asyncio.wait({ending}, timeout=GRACE)
    finally:
        stopping.cancel()
        flooding.cancel()
        await end_supervised(process)
        await asyncio.wait(reasons)
        await _finish(reading)
        status.close()
    return CommandEnd(
        exit_code=status.exit_code(),
        timed_out=timed_out,
        seconds=round(time.monotonic() - begun, 3),
        limit="output" if flooded.is_set() else status.limit(),
    )


async def _start(
    argv: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    keeping: Sequence[int],
    input_bytes: bytes | None,
    limits: str,
) -> tuple[asyncio.subprocess.Process, "_Status"]:
    """Start the supervisor, and return its process and status reader."""
    reads = _as_file(input_bytes)  # may hit a full disk, so before anything else is open
    reader, writer = os.pipe()
    try:
        process = await start_supervised(
            (str(writer), str(reads), limits, *argv),
            cwd=cwd,
            environment=environment,
            pass_fds=(writer, reads, *keeping),
        )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
        os.close(reads)
    return process, await _Status.open(reader)


def _as_file(content: bytes | None) -> int:
    """Write the input to an unlinked file: a pipe could fill up before the command reads."""
    if content is None:
        return os.open(os.devnull, os.O_RDONLY)
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)  # and writes what is still in the buffer
        return os.dup(file.fileno())


class _Status:
    """Reads what the supervisor reports."""

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
        """Wait until the command ended, failed to start, or was killed."""
        while line := (await self._reader.readline()).decode().strip():
            self._last = line
            if not line.startswith("started "):
                return

    def exit_code(self) -> int | None:
        """Return the exit code that was reported last.

        Raises:
            NotStarted: The program could not start.
        """
        word, _, rest = self._last.partition(" ")
        if word == "failed":
            raise NotStarted(rest)
        return int(rest) if word == "exit" else None

    def limit(self) -> Limit | None:
        """Return the limit that ended the command, if one did."""
        match self._last.split():
            case ["limit", ("memory" | "processes") as name]:
                return name
            case ["exit", code] if int(code) == _OVER_CPU:
                return "cpu"
            case ["exit", code] if int(code) == _OVER_FILE:
                return "output"
            case _:
                return None

    def close(self) -> None:
        self._transport.close()


async def _drain(
    process: asyncio.subprocess.Process,
    output: BoundedOutput,
    maximum: int | None,
    flooded: asyncio.Event,
) -> None:
    assert process.stdout is not None
    while chunk := await process.stdout.read(65_536):
        output.take(chunk)
        if maximum is not None and output.total > maximum:
            flooded.set()


async def _finish(reading: asyncio.Task[None]) -> None:
    """Collect the last output; all processes have ended."""
    await asyncio.wait({reading}, timeout=_DRAIN)
    reading.cancel()
    await asyncio.wait({reading})


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Send a signal to the whole group; the group id is its leader's pid."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
