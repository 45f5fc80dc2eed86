"""Errors of the system in words: a full disk, a file that may not be written."""

import errno
from pathlib import Path
from typing import Final

REASONS: Final = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than is allowed",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "the system does not permit it",
    errno.ENOTDIR: "a part of the path is no folder",
    errno.EISDIR: "it is a folder",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ELOOP: "its links lead in a circle",
    errno.EMFILE: "this process has too many files open",
    errno.ENFILE: "the machine has too many files open",
    errno.EIO: "the disk cannot be read or written",
}

_PASSING = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM}
)


def reason_of(error: OSError) -> str:
    """Say why, like `the disk is full (No space left on device)`; names no path."""
    words = error.strerror or type(error).__name__
    named = REASONS.get(error.errno or 0)
    return f"{named} ({words})" if named and named != words.lower() else words


def may_pass(error: OSError) -> bool:
    """Whether the same may work later: somebody may make room."""
    return error.errno in _PASSING


def shown_path(path: str, root: Path) -> str:
    """Return the path below the root; of any other place only the name of the file."""
    below = Path(path)
    return below.relative_to(root).as_posix() if below.is_relative_to(root) else below.name
