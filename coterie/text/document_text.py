"""The text of a document."""

import errno
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple

_UTF16 = (BOM_UTF16_BE, BOM_UTF16_LE)
_FIRST_OF_LATIN_1 = 0xA1
"""The first byte of a visible character of Latin-1 beyond ASCII."""
_SAVE = "save the file as UTF-8"


def text_of_document(file: Path) -> str:
    """Return the text of a file; never wait for a pipe, or read a device without an end.

    Raises:
        OSError: It cannot be read, or is neither a file nor a link to one.
    """
    mode = file.stat().st_mode
    if not S_ISREG(mode) and not S_ISDIR(mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    return file.read_text(encoding="utf-8")


class UnreadableText(NamedTuple):
    """Why a file is not the text that it should be, and where."""

    reason: str
    line: int = 1
    column: int = 1
    fix: str = ""


def unreadable_text(error: OSError | UnicodeDecodeError) -> UnreadableText:
    """Say why a file could not be read, and where it is not UTF-8.

    Args:
        error: Of the system, or of decoding all bytes of the file at once.
    """
    if isinstance(error, OSError):
        return UnreadableText(error.strerror or str(error))
    data = error.object
    if data.startswith(_UTF16):
        return UnreadableText("it is UTF-16 text, not UTF-8", fix=_SAVE)
    before = data[: error.start].decode().removeprefix("\ufeff")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    byte = data[error.start]
    reason = f"line {line}, column {column} is not UTF-8 text: the byte 0x{byte:02X}"
    if byte >= _FIRST_OF_LATIN_1:
        reason += f", in Latin-1 {chr(byte)!r}"
    return UnreadableText(reason, line, column, _SAVE)
