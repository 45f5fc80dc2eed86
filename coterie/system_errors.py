"""Describe system errors that are not bugs, in one sentence for a terminal."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from coterie.activities.os_errors import REASONS, reason_of


def system_error(error: OSError) -> str | None:
    """Return one sentence with path and cause; None if it may be a bug of ours."""
    if error.errno not in REASONS:
        return None
    return f"{error.filename}: {reason_of(error)}" if error.filename else reason_of(error)


_SERVER_NEEDS: Final = 64 * 1024
"""Bytes. With less, the embedded server's database refuses its next transactions."""


def full_disk(state: Path) -> str | None:
    """Return one sentence if the disk of the embedded server's database is full.

    In that case, the server reports the operation that failed, but not the cause.
    """
    with suppress(OSError):
        disk = os.statvfs(state)
        if disk.f_bavail * disk.f_frsize < _SERVER_NEEDS:
            return f"the disk of {state} is full: free some space, then repeat the command"
    return None
