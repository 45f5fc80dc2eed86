"""Prevent commands with the same key from running concurrently on one machine.

A call can be lost while its command is alive: Temporal takes a call from a worker that was silent
too long, even if it is only slow. A later check whether the effect happened must wait for that
command. So the command holds a file lock, and its supervisor inherits it: the lock ends with the
last of them, however they end.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from coterie.activities.os_errors import may_pass, reason_of
from coterie.activities.workspace.function_failures import FunctionFailure

_PAUSE = 0.05
"""Seconds between two attempts; a blocking wait in a thread could not be cancelled."""


@asynccontextmanager
async def alone(folder: Path, name: str) -> AsyncGenerator[int]:
    """Wait for all holders of this name, then exclude others within the block.

    Args:
        folder: Where the locks of this machine are.
        name: What the command works on.

    Yields:
        The descriptor that holds the lock, for a process to inherit.

    Raises:
        FunctionFailure: The folder is not writable.
    """
    file = folder / sha256(name.encode()).hexdigest()[:32]
    try:
        while (descriptor := _try_lock(file)) is None:  # noqa: ASYNC110  # processes share no Event
            await asyncio.sleep(_PAUSE)
    except OSError as error:
        raise FunctionFailure(
            f"could not write the lock that serialises commands, in {folder.name!r}: "
            f"{reason_of(error)}",
            may_pass=may_pass(error),
        ) from None
    try:
        yield descriptor
    finally:
        file.unlink(missing_ok=True)
        os.close(descriptor)


def _try_lock(file: Path) -> int | None:
    """Lock and return the file; None when it is locked, or was until now."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    is_ours = False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = os.fstat(descriptor).st_ino == file.stat().st_ino
    except (BlockingIOError, FileNotFoundError):
        pass
    finally:
        if not is_ours:
            os.close(descriptor)
    return descriptor if is_ours else None
