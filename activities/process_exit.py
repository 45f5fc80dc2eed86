"""Wait for the exit of a process, and for nothing else."""

import asyncio

_CHECK_SECONDS = 0.002


async def wait_for_exit(process: asyncio.subprocess.Process) -> int:
    """Return the exit code once the event loop has noticed that the process has exited.

    `process.wait()` also waits for the end of the output if the exit is noticed after the call, as
    on a busy machine. A process that escaped may hold the output open forever.
    """
    while process.returncode is None:  # noqa: ASYNC110 - asyncio has no event for it
        await asyncio.sleep(_CHECK_SECONDS)
    return process.returncode
