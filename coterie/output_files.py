"""Write files that users name with `-o`, atomically."""

import os
from contextlib import suppress
from pathlib import Path

from coterie.activities.os_errors import reason_of
from coterie.failures import CommandError


def write_output(cwd: Path, named: str, text: str) -> None:
    """Write a file in UTF-8; keep an existing one until the new one is complete.

    Raises:
        CommandError: It cannot be written.
    """
    file = cwd / named
    try:
        if file.exists() and not file.is_file():  # a device, a FIFO
            file.write_text(text, encoding="utf-8")
        else:
            _replace(file.resolve(), text)
    except OSError as error:
        raise CommandError(f"could not write {named}: {reason_of(error)}") from None


def _replace(file: Path, text: str) -> None:
    draft = file.with_name(f".{file.name}.{os.getpid()}.draft")
    try:
        draft.write_text(text, encoding="utf-8")
        if file.exists():
            draft.chmod(file.stat().st_mode & 0o7777)
        draft.replace(file)
    except OSError:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
