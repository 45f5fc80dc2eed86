"""Errors of the system that are nobody's bug: a full disk, a file that may not be written."""

import errno

_REASONS = {
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


def system_error(error: OSError) -> str | None:
    """One sentence with the path and the cause; None when it may be a bug of ours."""
    reason = _REASONS.get(error.errno or 0)
    if reason is None:
        return None
    told = f"{reason} ({error.strerror})" if error.strerror else reason
    return f"{error.filename}: {told}" if error.filename else told
