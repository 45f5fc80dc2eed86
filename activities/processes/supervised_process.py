"""Start and end a process under `supervisor.py`."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from coterie.activities.process_exit import wait_for_exit

_END_TIMEOUT = 5.0
"""Seconds for a supervisor to end; it needs milliseconds, unless the kernel holds a process."""
_SUPERVISOR = Path(__file__).with_name("supervisor.py")


async def start_supervised(
    arguments: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    pass_fds: Sequence[int],
) -> asyncio.subprocess.Process:
    """Start the supervisor, in a session of its own, with pipes to it.

    Args:
        arguments: The supervisor's own, then the command that it runs.
        cwd: Working directory.
        environment: The complete environment.
        pass_fds: Descriptors that the arguments name.

    Raises:
        OSError: The system has no more processes or files.
    """
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(_SUPERVISOR), *arguments),
        cwd=cwd,
        env=dict(environment),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        pass_fds=tuple(pass_fds),
        start_new_session=True,
    )


async def end_supervised(process: asyncio.subprocess.Process) -> None:
    """End a supervisor, which kills all descendants first; kill its group if it does not."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(_END_TIMEOUT):
            await wait_for_exit(process)
    except TimeoutError:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await wait_for_exit(process)
