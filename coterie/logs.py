"""Route log lines: to a file beside the runs, or to standard error for a worker's operator."""

import logging
import sys
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler

from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.project_files import private_opener
from coterie.dsl.known_secrets import KnownSecrets, secrets_of
from coterie.dsl.visible import hanging
from coterie.failures import CommandError
from coterie.settings import Settings, state_folder
from coterie.terminal import note

_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_MARGIN = "    "


class VisibleFormatter(logging.Formatter):
    """Makes control characters visible and indents continuation lines."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text, its further lines indented."""
        return hanging(_known.secrets.without(super().format(record)), _MARGIN)


class _Known:
    """The secrets that no log line of this process may contain."""

    secrets = KnownSecrets()


_known = _Known()


def hide(secrets: KnownSecrets) -> None:
    """Redact secrets in all log lines from now on."""
    _known.secrets = secrets


class PrivateLogFile(RotatingFileHandler):
    """A log that only this user may read."""

    _reported = False

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, opener=private_opener)

    def handleError(self, record: logging.LogRecord) -> None:  # the library's name
        """Report a write error once, such as a full disk; the library would print tracebacks."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self._reported:
            self._reported = True
            note(f"coterie: could not write {self.baseFilename}: {reason_of(error)}")


def to_file(settings: Settings) -> None:
    """Keep the terminal for the run, and log to `.coterie/coterie.log`."""
    hide(KnownSecrets(secrets_of(settings.environment)))
    file = state_folder(settings) / "coterie.log"
    _configure(PrivateLogFile(file, maxBytes=5_000_000, backupCount=1, encoding="utf-8"))


def to_file_if_writable(settings: Settings) -> None:
    """Log to the file; without a log where nobody may write, as on a read-only disk."""
    try:
        to_file(settings)
    except CommandError:
        _configure(logging.NullHandler())


def quietly(settings: Settings) -> None:
    """Log to the file for a short command, but only if the state folder exists."""
    if settings.state.is_dir():
        to_file(settings)
    else:
        _configure(logging.NullHandler())


def to_stderr() -> None:
    """Log to standard error, where a worker's operator reads."""
    _configure(logging.StreamHandler(sys.stderr))


def _configure(handler: logging.Handler) -> None:
    """Install our handler for all logs, including Temporal's core; once per process."""
    handler.setFormatter(VisibleFormatter(_FORMAT))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("coterie").setLevel(logging.INFO)
    core = LogForwardingConfig(logger=logging.getLogger("temporalio.core"))
    filter = TelemetryFilter(core_level="WARN", other_level="ERROR")
    telemetry = TelemetryConfig(logging=LoggingConfig(filter=filter, forwarding=core))
    Runtime.set_default(Runtime(telemetry=telemetry), error_if_already_set=False)
