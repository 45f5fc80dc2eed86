"""Open an SQLite file with the functions of sqlite-vec, for this user alone."""

import errno
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, cast

import apsw
import sqlite_vec  # pyright: ignore[reportMissingTypeStubs]  # the library carries no types

from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.activities.workspace.project_files import private_folder

SqlValue = int | float | str | bytes | None

_BUSY_TIMEOUT = 30_000
"""Milliseconds to wait while another process writes."""


_AWAY = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.FullError,
    apsw.IOError,
    apsw.LockedError,
    apsw.PermissionsError,
    apsw.ReadOnlyError,
)
_DAMAGED = (apsw.CorruptError, apsw.NotADBError)


class _Rows(Protocol):
    def fetchall(self) -> list[tuple[SqlValue, ...]]: ...


class _Connection(Protocol):
    """The part of `apsw.Connection` that this module uses; its own types are incomplete."""

    def execute(self, statements: str, bindings: Sequence[SqlValue] = ()) -> _Rows: ...
    def last_insert_rowid(self) -> int: ...
    def __enter__(self) -> object: ...
    def __exit__(self, kind: object, error: object, trace: object) -> object: ...


class SqliteFile:
    """An open file."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = cast("_Connection", connection)

    def rows(self, statement: str, *values: SqlValue) -> list[tuple[SqlValue, ...]]:
        """Run a statement; return all its rows."""
        return self._connection.execute(statement, values).fetchall()

    def insert(self, statement: str, *values: SqlValue) -> int:
        """Insert a row; return its id."""
        self._connection.execute(statement, values)
        return self._connection.last_insert_rowid()

    @contextmanager
    def writing(self) -> Generator[None]:
        """Make the statements of the block all or nothing, while no other process writes."""
        self._connection.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._connection.execute("rollback")
            raise
        self._connection.execute("commit")

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Make the statements of the block all or nothing; blocks may be nested."""
        with self._connection:
            yield


@contextmanager
def open_sqlite(file: Path) -> Generator[SqliteFile]:
    """Open a file that only this user can read; create it if missing.

    Raises:
        OSError: It cannot be reached now.
        FunctionFailure: It is damaged.
    """
    private_folder(file.parent)
    try:
        with _open_connection(file) as database:
            yield database
    except _AWAY as error:
        raise OSError(errno.EIO, str(error), str(file)) from None
    except _DAMAGED as error:
        raise FunctionFailure(
            f"{file.name} of the worker is damaged ({error}); restore it, or delete it"
        ) from None


@contextmanager
def _open_connection(file: Path) -> Generator[SqliteFile]:
    connection = apsw.Connection(str(file))
    try:
        file.chmod(0o600)
        connection.set_busy_timeout(_BUSY_TIMEOUT)
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.enable_load_extension(False)
        database = SqliteFile(connection)
        database.rows("pragma journal_mode = wal")
        yield database
    finally:
        connection.close()
