"""Manage the embedded Temporal server of a project: started on demand, shared, restarted.

Each project has one, with a SQLite file in `.coterie/`. It outlives the command that started it,
and later commands use it. A lock serialises concurrent starts.
"""

import asyncio
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from coterie.activities.workspace.project_files import write_private
from coterie.failures import CommandError
from coterie.server.server_process import (
    ServerRecord,
    answers,
    find_binary,
    free_ports,
    is_alive,
    last_words,
    port_is_free,
    send,
    server_version,
    spawn,
)
from coterie.settings import Settings, state_folder
from coterie.terminal import note

_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_WATCH_SECONDS = 0.5
_MAX_ASIDE = 100
_STARTS = 3
"""Attempts, in case another program takes a port between our check and the server's start."""
_TAKEN = "address already in use"
ASIDE = "temporal-of-"
"""Begins the names of folders with databases that were set aside."""


class ServerMoved(CommandError):
    """The server restarted on another port because its own was taken.

    Attributes:
        record: Its new address.
    """

    def __init__(self, before: ServerRecord, record: ServerRecord) -> None:
        self.record = record
        super().__init__(
            f"the embedded server died, and another program took its port {before.port}; it is "
            f"back at {record.address}"
        )


class EmbeddedServer:
    """The server of one project."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        return self._settings.state

    def has_data(self) -> bool:
        """Return whether it has run here before, so that there may be runs."""
        return (self.folder / "temporal.db").exists()

    def record(self) -> ServerRecord | None:
        """Return its ports and process id, as last written."""
        try:
            text = (self.folder / "server.json").read_text(encoding="utf-8")
            return ServerRecord.model_validate_json(text)
        except (FileNotFoundError, ValidationError):
            return None

    def running(self) -> bool:
        """Return whether its process is alive; it may not answer yet."""
        return is_alive(self.folder)

    def healthy(self) -> bool:
        """Return whether it is alive and answers."""
        record = self.record()
        return self.running() and record is not None and answers(record, self._settings.namespace)

    def ensure(self, *, keep_stopped: bool = False) -> ServerRecord:
        """Use the running server, or start it on the same ports and data.

        Args:
            keep_stopped: Do not start a server that a person stopped.

        Raises:
            CommandError: It cannot start, or it runs and does not answer.
        """
        folder = state_folder(self._settings)
        with self._starters_lock(folder):
            if self.running():
                answering = self._answering(self.record())
                if answering is not None:
                    return answering
            record = self.record()  # as who stopped it meanwhile left it
            if record is not None and record.stopped and keep_stopped:
                raise CommandError(
                    "the embedded server was stopped; start it with `coterie server`"
                )
            return self._start(folder, record)

    def stop(self) -> bool:
        """Stop the server, and return False if it was not running; runs stay on disk.

        Raises:
            CommandError: It runs, and its process is unknown.
        """
        if not self.folder.exists():
            return False
        with self._starters_lock(self.folder):
            if not self.running():
                return False
            record = self.record()
            if record is None or record.pid is None:
                raise CommandError(
                    f"the embedded server runs, but {self.folder / 'server.json'} does not have "
                    "its process id; stop the `temporal` process yourself"
                )
            self._write(record.model_copy(update={"stopped": True}))
            for number in (signal.SIGTERM, signal.SIGKILL):
                send(record.pid, number)
                if self._gone_within(_STOP_SECONDS):
                    return True
            raise CommandError(f"the embedded server (process {record.pid}) did not stop")

    @contextmanager
    def _starters_lock(self, folder: Path) -> Generator[None]:
        lock = FileLock(folder / "server.lock", timeout=_START_SECONDS * 1.5, mode=0o600)
        try:
            lock.acquire()
        except Timeout:
            raise CommandError(
                f"another command has been starting the server of {self._settings.project} for "
                "over a minute; stop it and try again"
            ) from None
        try:
            yield
        finally:
            lock.release()

    def _answering(self, record: ServerRecord | None) -> ServerRecord | None:
        """Return the running server's record once it answers; None if it dies before.

        It may still be starting.
        """
        until = time.monotonic() + _START_SECONDS
        while record is not None and self.running() and time.monotonic() < until:
            if answers(record, self._settings.namespace):
                return record
            time.sleep(0.05)
        if not self.running():
            return None
        process = f" (process {record.pid})" if record and record.pid else ""
        raise CommandError(
            f"the embedded server{process} is running, but does not answer for namespace "
            f"{self._settings.namespace!r}; stop it with `coterie server --stop` and try again"
        )

    def _start(self, folder: Path, record: ServerRecord | None) -> ServerRecord:
        """Start it on its ports, or on others if those are taken, even at the last moment."""
        binary = find_binary(self._settings)
        version = server_version(binary, self._settings)
        written_by = record.version if record is not None and self.has_data() else None
        other = _other_version(written_by, version)
        if other is not None:
            note(f"coterie: {other}")
        if self._process is not None:
            self._process.wait()  # reap the dead process that we started
        for _ in range(_STARTS):
            if record is None or not _ports_are_free(record):
                port, ui_port = free_ports(2)
                record = ServerRecord(port=port, ui_port=ui_port, version=written_by)
            process = self._spawn_server(folder, binary, record, version)
            if process is not None:
                return process
            if self._was_killed():
                continue  # killed, like any running server: restart it
            if _TAKEN not in last_words(folder):
                break
            record = None
        raise CommandError(
            f"the embedded server exited at startup: {last_words(folder)} "
            f"(see {folder / 'server.log'})" + (f"; {other}" if other is not None else "")
        )

    def _was_killed(self) -> bool:
        """Return whether a signal ended the started process."""
        return self._process is not None and (self._process.returncode or 0) < 0

    def _spawn_server(
        self, folder: Path, binary: str, record: ServerRecord, version: str | None
    ) -> ServerRecord | None:
        """Return the record once the server answers; None if it exited at startup."""
        self._write(record.model_copy(update={"pid": None, "stopped": False}))
        try:
            self._process = spawn(binary, folder, record, self._settings)
        except OSError as error:
            path = error.filename or binary
            raise CommandError(f"could not use {path}: {error.strerror}") from None
        record = record.model_copy(update={"pid": self._process.pid, "stopped": False})
        self._write(record)
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until:
            if self._process.poll() is not None:
                return None
            if answers(record, self._settings.namespace):
                return self._used_by(record, version)
            time.sleep(0.05)
        raise CommandError(
            f"the embedded server did not answer within {_START_SECONDS:g} seconds; "
            f"see {folder / 'server.log'}"
        )

    def _used_by(self, record: ServerRecord, version: str | None) -> ServerRecord:
        """Note which version uses the database from now on."""
        if version is None or version == record.version:
            return record
        record = record.model_copy(update={"version": version})
        self._write(record)
        return record

    def set_database_aside(self) -> Path | None:
        """Stop the server, and move its database into a folder; None if there is none.

        Raises:
            CommandError: The server does not stop, or the files cannot be moved.
        """
        self.stop()
        if not self.has_data():
            return None
        with self._starters_lock(self.folder):
            if self.running():
                raise CommandError("another command has started the embedded server again")
            record = self.record()
            version = record.version if record is not None and record.version else "unknown"
            try:
                aside = _free_folder(self.folder, f"{ASIDE}{version}")
                for file in self.folder.glob("temporal.db*"):  # with its journal
                    file.rename(aside / file.name)
            except OSError as error:
                raise CommandError(f"could not move the database: {error.strerror}") from None
            if record is not None:
                self._write(record.model_copy(update={"version": None}))
            return aside

    def _gone_within(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while self.running():
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        if self._process is not None:
            self._process.wait()
        return True

    def _write(self, record: ServerRecord) -> None:
        file = self.folder / "server.json"
        write_private(file, record.model_dump_json(indent=2) + "\n")


def _other_version(written_by: str | None, version: str | None) -> str | None:
    """Say that another version wrote the database; None if it did not, or nobody knows."""
    if written_by is None or version is None or written_by == version:
        return None
    return (
        f"Temporal {written_by} has written the runs of this project, and this is {version}; "
        "Temporal upgrades from one minor version to the next, and never back. If runs do not go "
        f"on, install {written_by} again, or start anew with `coterie server --set-aside`, which "
        "keeps the old database in a folder"
    )


def _free_folder(home: Path, name: str) -> Path:
    """Make a folder of this name, or of the first number after it that is free."""
    for number in range(1, _MAX_ASIDE + 1):
        folder = home / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder
    raise CommandError(f"{home} has {_MAX_ASIDE} databases of {name}; delete some of them")


def _ports_are_free(record: ServerRecord) -> bool:
    return port_is_free(record.port) and port_is_free(record.ui_port)


async def supervise(
    server: EmbeddedServer, known: ServerRecord, restarted: Callable[[], None]
) -> None:
    """Restart the server whenever it dies; never return.

    Args:
        server: The server.
        known: The ports that our clients and workers use.
        restarted: Called after each restart.

    Raises:
        ServerMoved: It restarted on other ports, because another program took one of its own.
        CommandError: A person stopped it, or it cannot start.
    """
    while True:
        await asyncio.sleep(_WATCH_SECONDS)
        if server.running():
            continue
        record = await asyncio.to_thread(server.ensure, keep_stopped=True)
        if record.address != known.address:
            raise ServerMoved(known, record)
        restarted()
