"""Run a short program of our own choice, such as git, and read a bounded part of its output."""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from coterie.activities.process_exit import wait_for_exit
from coterie.activities.processes.process_group import NotStarted

_MAX_ERRORS = 4_000
_GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL."""
_DRAIN = 0.2
"""Seconds to wait for the last output, when a process outside the group still holds the pipe."""


@dataclass(frozen=True, slots=True)
class ProgramOutput:
    """How the program ended, and what it wrote."""

    exit_code: int
    """Negative if a signal ended it."""
    output: bytes
    """The beginning of its standard output."""
    errors: str
    """The beginning of its standard error."""
    complete: bool
    """Whether `output` is all of it; else the program was stopped."""


class ProgramTimeout(Exception):
    """The program did not end in time, and was stopped."""


async def run_program(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    seconds: float,
    maximum: int,
    given: bytes = b"",
) -> ProgramOutput:
    """Run a program to its end, or until it has written enough.

    Args:
        argv: Program and arguments; no shell.
        cwd: Working directory.
        environment: Its complete environment.
        seconds: Timeout.
        maximum: Bytes of standard output to read.
        given: Standard input.

    Raises:
        NotStarted: The program does not exist, or cannot be run.
        ProgramTimeout: It did not end in time.
    """
    process = await _start(
        asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=dict(environment),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
        )
    )
    try:
        async with asyncio.timeout(seconds):
            return await _await_end(process, maximum, given)
    except TimeoutError:
        raise ProgramTimeout from None
    finally:
        await _stop(process)


async def _start(start: Coroutine[None, None, Process]) -> Process:
    """Return the process; one that nobody waits for any more is stopped once it has started.

    asyncio itself can wait forever for a start that is cancelled.
    """
    starting = asyncio.create_task(start)
    try:
        return await asyncio.shield(starting)
    except OSError as error:
        raise NotStarted(error.strerror or type(error).__name__) from None
    except asyncio.CancelledError:
        await asyncio.wait({starting})
        if starting.exception() is None:
            await _stop(starting.result())
        raise


async def _await_end(process: Process, maximum: int, input_bytes: bytes) -> ProgramOutput:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(_head(process.stderr, _MAX_ERRORS))
    process.stdin.write(input_bytes)  # sent while the output is read; a program need not read it
    process.stdin.close()
    try:
        output = await _up_to(process.stdout, maximum + 1)
        complete = len(output) <= maximum
        if not complete:
            _kill(process)
        error_text = (await errors).decode(errors="replace")
    finally:
        errors.cancel()
        await asyncio.wait({errors})
    return ProgramOutput(await wait_for_exit(process), output[:maximum], error_text, complete)


async def _up_to(stream: asyncio.StreamReader, maximum: int) -> bytes:
    output = bytearray()
    while chunk := await stream.read(maximum - len(output)):
        output += chunk
    return bytes(output)


async def _head(stream: asyncio.StreamReader, maximum: int) -> bytes:
    """Read everything, so that the writer never waits; return the beginning."""
    output = bytearray()
    while chunk := await stream.read(65_536):
        output += chunk[: maximum - len(output)]
    return bytes(output)


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def _stop(process: Process) -> None:
    """End all its processes, also after a cancellation."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # git removes its lock files
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await wait_for_exit(process)
    _kill(process)
    await wait_for_exit(process)
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN):
            for stream in filter(None, (process.stdout, process.stderr)):
                await _head(stream, 0)  # asyncio closes a pipe where its reader has come to the end
