"""Where log lines go: to a file beside the runs, or to standard error for a worker's operator."""

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

from activities.os_errors import reason_of
from activities.workspace.project_files import private_opener
from coterie.settings import Settings, state_folder
from coterie.terminal import note
from dsl.known_secrets import KnownSecrets, secrets_of
from dsl.visible import hanging

_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_MARGIN = "    "


class VisibleFormatter(logging.Formatter):
    """Makes control characters visible; further lines of a record cannot pass for another one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text, its further lines indented."""
        return hanging(_known.secrets.without(super().format(record)), _MARGIN)


class _Known:
    """What no log line of this process tells."""

    secrets = KnownSecrets()


_known = _Known()


def hide(secrets: KnownSecrets) -> None:
    """Keep secrets out of every log line from now on."""
    _known.secrets = secrets


class PrivateLogFile(RotatingFileHandler):
    """A log that nobody else may read."""

    _told = False

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, opener=private_opener)

    def handleError(self, record: logging.LogRecord) -> None:  # the library's name
        """Say once why lines are lost, as of a full disk; the library prints tracebacks."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self._told:
            self._told = True
            note(f"coterie: {self.baseFilename} cannot be written: {reason_of(error)}")


def to_file(settings: Settings) -> None:
    """Keep the terminal for the run; logs go to `.coterie/coterie.log`."""
    hide(KnownSecrets(secrets_of(settings.environment)))
    file = state_folder(settings) / "coterie.log"
    _configure(PrivateLogFile(file, maxBytes=5_000_000, backupCount=1, encoding="utf-8"))


def quietly(settings: Settings) -> None:
    """For a short command: to the file where there is a state folder; it makes none."""
    if settings.state.is_dir():
        to_file(settings)
    else:
        _configure(logging.NullHandler())


def to_stderr() -> None:
    """A worker's operator reads them where the process writes."""
    _configure(logging.StreamHandler(sys.stderr))


def _configure(handler: logging.Handler) -> None:
    """Our handler for everything, Temporal's core included; once per process, before a client."""
    handler.setFormatter(VisibleFormatter(_FORMAT))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("coterie").setLevel(logging.INFO)
    core = LogForwardingConfig(logger=logging.getLogger("temporalio.core"))
    filter = TelemetryFilter(core_level="WARN", other_level="ERROR")
    telemetry = TelemetryConfig(logging=LoggingConfig(filter=filter, forwarding=core))
    Runtime.set_default(Runtime(telemetry=telemetry), error_if_already_set=False)
