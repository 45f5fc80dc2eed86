"""Explain operating system errors: a full disk, a file that cannot be written."""

import errno
from pathlib import Path
from typing import Final

REASONS: Final = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would exceed the allowed size",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "the system does not permit it",
    errno.ENOTDIR: "part of the path is not a directory",
    errno.EISDIR: "it is a directory",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ELOOP: "its symbolic links form a loop",
    errno.EMFILE: "this process has too many files open",
    errno.ENFILE: "the machine has too many files open",
    errno.EIO: "the disk cannot be read or written",
}

_PASSING = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM}
)


def reason_of(error: OSError) -> str:
    """Explain an error, like `the disk is full (No space left on device)`, without any path."""
    words = error.strerror or type(error).__name__
    named = REASONS.get(error.errno or 0)
    return f"{named} ({words})" if named and named != words.lower() else words


def may_pass(error: OSError) -> bool:
    """Return whether a retry may succeed, once space or a resource is free again."""
    return error.errno in _PASSING


def shown_path(path: str, root: Path) -> str:
    """Return the path relative to the root; for any other place, only the file name."""
    below = Path(path)
    return below.relative_to(root).as_posix() if below.is_relative_to(root) else below.name
