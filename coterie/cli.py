"""`coterie`: the parser, the dispatch to `coterie.commands`, and the only error handler.

Only the module of the chosen command is loaded, so that help and `validate` start fast.
"""

import gc
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NoReturn

from coterie.activities.os_errors import REASONS, reason_of
from coterie.activities.workspace.project_files import write_private
from coterie.commands.parser import load_command, parse_command
from coterie.commands.table import VERBS
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.visible import visible
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings, load, state_folder
from coterie.standard_streams import StandardStreams
from coterie.terminal import note
from coterie.text.lines import one_entry
from coterie.text.problems import lines_of_file, problems_text, summary
from coterie.version import versions

_WITHOUT_GC = frozenset(
    {"validate", "check", "plan", "graph", "explain", "limits", "schema", "init", "completion"}
)
"""Commands that end before garbage collection would pay: it would cost a tenth of their time."""

_SERVER_NEEDS: Final = 64 * 1024
"""Bytes. With less, the embedded server's database refuses its next transactions."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    if argv is None:
        gc.disable()  # until the command is loaded: nothing that is imported can be collected
        _interrupt_on_signals()
        streams = StandardStreams()
        _leave(streams, _exit_code(sys.argv[1:], streams))
    return _outcome(argv)


def _interrupt_on_signals() -> None:
    """Let SIGTERM and SIGHUP end the command like Ctrl-C, from before it is loaded."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as by nohup
            signal.signal(number, signal.default_int_handler)


def _exit_code(words: Sequence[str], streams: StandardStreams) -> int:
    """Run the command; return its exit code also where argparse ends it."""
    try:
        return _outcome(words, streams)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.DONE


def _leave(streams: StandardStreams, code: int) -> NoReturn:
    """Exit without the interpreter's own clean-up.

    Threads of Temporal's library may try to take the interpreter's lock during shutdown, which
    aborts the process instead of returning our exit code. Clean-up would also take a tenth of the
    time of `validate`.
    """
    if (error := streams.flush()) is not None:
        note(f"coterie: could not write to standard output: {system_error(error) or error}")
        code = code or ExitCode.OUTPUT_LOST
        streams.flush()
    os._exit(code)


def _report(what: str) -> ExitCode:
    note(one_entry(f"coterie: {what}"))
    return ExitCode.CALL_WRONG


def _outcome(words: Sequence[str], streams: StandardStreams | None = None) -> int:
    """Parse and run the command; turn every error into a sentence and an exit code.

    Args:
        words: The command line.
        streams: Those of the process, if the command has it for itself.
    """
    settings: Settings | None = None
    began = False
    try:
        settings = load()
        verb, args = parse_command(words)
        command = load_command(verb)
        if streams is not None:
            streams.ends_with_reader = VERBS[verb].only_prints
        if verb not in _WITHOUT_GC:
            gc.freeze()  # what is imported stays: no collection has to look through it
            gc.enable()
        began = True
        return command.run(args, settings)
    except CommandError as error:
        note(one_entry(f"coterie: {error}"))
        if settings and settings.address is None and (cause := full_disk(settings.state)):
            note(one_entry(f"coterie: {cause}"))
        return error.exit_code
    except InvalidDocument as error:
        return _report_refusal(error, settings)
    except KeyboardInterrupt:
        return _exit_interrupted(began=began)
    except BrokenPipeError:
        return ExitCode.READER_LEFT
    except Exception as error:
        if isinstance(error, OSError) and (cause := system_error(error)) is not None:
            return _report(cause)
        return report_bug(error, words, settings)


def _exit_interrupted(*, began: bool) -> ExitCode:
    """Return the exit code; the command itself has said what it left, if it began."""
    if not began:
        note("coterie: interrupted before the command began; nothing was done")
    return ExitCode.INTERRUPTED


def _report_refusal(error: InvalidDocument, settings: Settings | None) -> ExitCode:
    folder = settings.cwd if settings else Path.cwd()
    note(problems_text(error.problems, lines_of_file(folder)))
    note(f"coterie: {summary(error.problems)}")
    return ExitCode.CALL_WRONG


def system_error(error: OSError) -> str | None:
    """Return one sentence with path and cause; None if it may be a bug of ours."""
    if error.errno not in REASONS:
        return None
    return f"{error.filename}: {reason_of(error)}" if error.filename else reason_of(error)


def full_disk(state: Path) -> str | None:
    """Return one sentence if the disk of the embedded server's database is full.

    In that case, the server reports the operation that failed, but not the cause.
    """
    with suppress(OSError):
        disk = os.statvfs(state)
        if disk.f_bavail * disk.f_frsize < _SERVER_NEEDS:
            return f"the disk of {state} is full: free some space, then repeat the command"
    return None


def report_bug(error: Exception, words: Sequence[str], settings: Settings | None) -> ExitCode:
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
