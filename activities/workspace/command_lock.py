"""Commands that are about the same thing never run at the same time on one machine.

A call can be lost and its command be alive: Temporal takes a call from a worker that was silent
too long, also from one that is only slow. Whoever then looks whether it happened has to come
after it. So such a command holds the lock of a file, and the process that watches over it
inherits the lock: it ends with the last of them, however they end.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from activities.os_errors import may_pass, reason_of
from activities.workspace.skill_base import SkillFailure

_PAUSE = 0.05
"""Seconds between two looks at a lock that somebody has; a wait in a thread could not be left."""


@asynccontextmanager
async def alone(folder: Path, name: str) -> AsyncGenerator[int]:
    """Wait for everybody with this name, then keep others waiting within the block.

    Args:
        folder: where the locks of this machine lie.
        name: what it is about.

    Yields:
        The descriptor that holds the lock, for a process to inherit.

    Raises:
        SkillFailure: the folder cannot be written to.
    """
    file = folder / sha256(name.encode()).hexdigest()[:32]
    try:
        while (descriptor := _taken(file)) is None:  # noqa: ASYNC110  # processes share no Event
            await asyncio.sleep(_PAUSE)
    except OSError as error:
        raise SkillFailure(
            f"the lock by which a command runs alone cannot be written in {folder.name!r}: "
            f"{reason_of(error)}",
            may_pass=may_pass(error),
        ) from None
    try:
        yield descriptor
    finally:
        file.unlink(missing_ok=True)
        os.close(descriptor)


def _taken(file: Path) -> int | None:
    """The file, locked; None when somebody has it, or had it until now."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == file.stat().st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None
