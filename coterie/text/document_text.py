"""The text of a document."""

import errno
from pathlib import Path
from stat import S_ISDIR, S_ISREG


def text_of_document(file: Path) -> str:
    """Return the text of a file; never wait for a pipe, or read a device without an end.

    Raises:
        OSError: It cannot be read, or is neither a file nor a link to one.
    """
    mode = file.stat().st_mode
    if not S_ISREG(mode) and not S_ISDIR(mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    return file.read_text(encoding="utf-8")
