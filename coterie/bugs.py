"""Report an unexpected exception: a log file, and one line about it."""

import tempfile
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from coterie.activities.workspace.project_files import write_private
from coterie.dsl.visible import visible
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings, state_folder
from coterie.terminal import note
from coterie.version import versions


def report(error: Exception, words: Sequence[str], settings: Settings | None) -> ExitCode:
    """Write the traceback to a file, and print where it is.

    Args:
        error: The unexpected exception.
        words: The command line; our arguments contain no secrets.
        settings: None when they could not be read.
    """
    lines = [
        f"{datetime.now(UTC).isoformat(timespec='seconds')}  coterie {' '.join(words)}",
        *(f"{name} {version}" for name, version in versions().items()),
        "",
        *traceback.format_exception(error),
    ]
    file = _log_file(settings)
    try:
        write_private(file, visible("\n".join(lines)))
    except OSError as refused:
        outcome = f"could not write the details to {file} ({refused.strerror})"
        note(
            visible(f"coterie: a bug: {type(error).__name__}: {error}; {outcome}. Please report it")
        )
        return ExitCode.BUG
    note(f"coterie: a bug: {type(error).__name__}. The details are in {file}; please report it")
    return ExitCode.BUG


def _log_file(settings: Settings | None) -> Path:
    name = f"bug-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S-%f')}.log"
    if settings is not None:
        try:
            return state_folder(settings) / name
        except CommandError:
            pass
    return Path(tempfile.gettempdir()) / f"coterie-{name}"
