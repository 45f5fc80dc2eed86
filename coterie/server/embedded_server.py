"""The embedded Temporal server of a project: started when needed, shared, brought back.

One per project, on a SQLite file in `.coterie/`. It outlives the command that started it; any
later command uses the same one. Two starters wait for each other at a lock.
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

from activities.workspace.project_files import write_private
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
    spawn,
)
from coterie.settings import Settings, state_folder

_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_WATCH_SECONDS = 0.5
_STARTS = 3
"""Tries, when another program takes a port between our look at it and the server's."""
_TAKEN = "address already in use"


class ServerMoved(CommandError):
    """The server is back on another port, as its own was taken meanwhile.

    Attributes:
        record: where it is now.
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
        """Where its files are."""
        return self._settings.state

    def has_data(self) -> bool:
        """It ran here before, so there may be runs to ask for."""
        return (self.folder / "temporal.db").exists()

    def record(self) -> ServerRecord | None:
        """Its ports and process id, as last written."""
        try:
            text = (self.folder / "server.json").read_text(encoding="utf-8")
            return ServerRecord.model_validate_json(text)
        except (FileNotFoundError, ValidationError):
            return None

    def running(self) -> bool:
        """Its process lives; whether it answers is another question."""
        return is_alive(self.folder)

    def healthy(self) -> bool:
        """It lives and answers."""
        record = self.record()
        return self.running() and record is not None and answers(record, self._settings.namespace)

    def ensure(self, *, keep_stopped: bool = False) -> ServerRecord:
        """Use the running server, or start it on the same ports and data.

        Args:
            keep_stopped: do not start one that a person stopped.

        Raises:
            CommandError: it cannot be started, or it runs and does not answer.
        """
        folder = state_folder(self._settings)
        with self._starters_lock(folder):
            record = self.record()
            if self.running():
                return self._answering(record)
            if record is not None and record.stopped and keep_stopped:
                raise CommandError(
                    "the embedded server was stopped; start it with `coterie server`"
                )
            return self._start(folder, record)

    def stop(self) -> bool:
        """End the server; runs stay on disk. False when it did not run.

        Raises:
            CommandError: it runs, and its process is not known.
        """
        if not self.folder.exists():
            return False
        with self._starters_lock(self.folder):
            if not self.running():
                return False
            record = self.record()
            if record is None or record.pid is None:
                raise CommandError(
                    f"the embedded server runs, but {self.folder / 'server.json'} does not say "
                    "as which process; end the `temporal` process by hand"
                )
            self._write(record.model_copy(update={"stopped": True}))
            for number in (signal.SIGTERM, signal.SIGKILL):
                send(record.pid, number)
                if self._gone_within(_STOP_SECONDS):
                    return True
            raise CommandError(f"the embedded server (process {record.pid}) does not end")

    @contextmanager
    def _starters_lock(self, folder: Path) -> Generator[None]:
        lock = FileLock(folder / "server.lock", timeout=_START_SECONDS * 1.5, mode=0o600)
        try:
            lock.acquire()
        except Timeout:
            raise CommandError(
                f"another command has been starting the server of {self._settings.project} for "
                "over a minute; end it and try again"
            ) from None
        try:
            yield
        finally:
            lock.release()

    def _answering(self, record: ServerRecord | None) -> ServerRecord:
        """The running server's record, once it answers; it may be starting still."""
        until = time.monotonic() + _START_SECONDS
        while record is not None and self.running() and time.monotonic() < until:
            if answers(record, self._settings.namespace):
                return record
            time.sleep(0.05)
        process = f" (process {record.pid})" if record and record.pid else ""
        raise CommandError(
            f"the embedded server{process} runs, but does not answer for namespace "
            f"{self._settings.namespace!r}; stop it with `coterie server --stop` and try again"
        )

    def _start(self, folder: Path, record: ServerRecord | None) -> ServerRecord:
        """Start it on its ports, or on others where those are taken, even at the last moment."""
        binary = find_binary(self._settings)
        if self._process is not None:
            self._process.wait()  # the dead one that we started
        for _ in range(_STARTS):
            if record is None or not _ports_are_free(record):
                port, ui_port = free_ports(2)
                record = ServerRecord(port=port, ui_port=ui_port)
            started = self._spawned(folder, binary, record)
            if started is not None:
                return started
            if self._was_killed():
                continue  # by somebody, as any other time: it is brought back
            if _TAKEN not in last_words(folder):
                break
            record = None
        raise CommandError(
            f"the embedded server ended at once: {last_words(folder)} "
            f"(all of it: {folder / 'server.log'})"
        )

    def _was_killed(self) -> bool:
        """A signal ended the process that was started."""
        return self._process is not None and (self._process.returncode or 0) < 0

    def _spawned(self, folder: Path, binary: str, record: ServerRecord) -> ServerRecord | None:
        """The record of the server once it answers; None when it ended at once."""
        self._write(record.model_copy(update={"pid": None, "stopped": False}))
        try:
            self._process = spawn(binary, folder, record, self._settings)
        except OSError as error:
            refused = error.filename or binary
            raise CommandError(f"{refused} cannot be used: {error.strerror}") from None
        record = record.model_copy(update={"pid": self._process.pid, "stopped": False})
        self._write(record)
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until:
            if self._process.poll() is not None:
                return None
            if answers(record, self._settings.namespace):
                return record
            time.sleep(0.05)
        raise CommandError(
            f"the embedded server did not answer within {_START_SECONDS:g} seconds; "
            f"see {folder / 'server.log'}"
        )

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


def _ports_are_free(record: ServerRecord) -> bool:
    return port_is_free(record.port) and port_is_free(record.ui_port)


async def supervise(
    server: EmbeddedServer, known: ServerRecord, restarted: Callable[[], None]
) -> None:
    """Bring the server back whenever it dies; returns never.

    Args:
        server: which one.
        known: the ports that our clients and workers are connected to.
        restarted: told after each time.

    Raises:
        ServerMoved: it is back on other ports, since another program took one of its own.
        CommandError: a person stopped it, or it cannot be started.
    """
    while True:
        await asyncio.sleep(_WATCH_SECONDS)
        if server.running():
            continue
        record = await asyncio.to_thread(server.ensure, keep_stopped=True)
        if record.address != known.address:
            raise ServerMoved(known, record)
        restarted()
