"""The table `agent_executions` in SQLite or PostgreSQL, and its migrations. Blocking."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import (
    JSON,
    Column,
    Connection,
    DateTime,
    MetaData,
    RowMapping,
    Table,
    Text,
    create_engine,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError, SQLAlchemyError

from coterie.executions.agent_execution import AgentExecution
from coterie.failures import CommandError

METADATA = MetaData()
EXECUTIONS = Table(
    "agent_executions",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("session_id", Text, nullable=False, index=True),
    Column("status", Text, nullable=False),
    Column(
        "state_snapshot",
        JSON().with_variant(postgresql.JSONB(), "postgresql"),
        nullable=False,
    ),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
)
VERSIONS = "coterie_alembic_version"
"""Alembic's own table, under a name that does not meet a program's own migrations."""
MIGRATIONS = Path(__file__).parent / "migrations"

_DIALECTS = ("sqlite", "postgresql")


class ExecutionTable:
    """The rows of one database."""

    def __init__(self, url: str) -> None:
        """Prepare the connection; nothing is opened yet.

        Args:
            url: `sqlite:///runs.db`, or `postgresql+psycopg://user@host/name`.

        Raises:
            CommandError: The URL is invalid, or its driver is not installed.
        """
        self._url = _database_url(url)
        self._engine = _engine(self._url)

    @property
    def name(self) -> str:
        """The URL without its password."""
        return self._url.render_as_string(hide_password=True)

    def upgrade(self) -> None:
        """Create the table, or bring it to the latest form."""
        with self._connection() as connection:
            command.upgrade(_config(connection), "head")

    def remove(self) -> None:
        """Remove the table with all its rows."""
        with self._connection() as connection:
            command.downgrade(_config(connection), "base")

    def put(self, row: AgentExecution) -> None:
        """Insert a row, or replace that of its run unless it is of a later history."""
        values = row.model_dump()
        dialect_insert = (
            sqlite.insert if self._url.get_dialect().name == "sqlite" else postgresql.insert
        )
        insert = dialect_insert(EXECUTIONS).values(values)
        newer = {key: insert.excluded[key] for key in values if key != "id"}
        replace = insert.on_conflict_do_update(
            index_elements=[EXECUTIONS.c.id],
            set_=newer,
            where=EXECUTIONS.c.updated_at <= insert.excluded.updated_at,
        )
        with self._connection() as connection:
            connection.execute(replace)

    def get(self, id: str) -> AgentExecution | None:
        """Return the row of a run; None if there is none."""
        with self._connection() as connection:
            rows = connection.execute(select(EXECUTIONS).where(EXECUTIONS.c.id == id)).mappings()
            row = rows.one_or_none()
        return None if row is None else _row(row)

    @contextmanager
    def _connection(self) -> Generator[Connection]:
        """Open a transaction; every error of the database is one sentence without its password."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise CommandError(f"the database {self.name} refuses: {_reason(error)}") from None
        finally:
            self._engine.dispose()


def _database_url(url: str) -> URL:
    try:
        database_url = make_url(url)
    except ArgumentError:
        raise CommandError(
            "this is not the URL of a database; write sqlite:///runs.db or "
            "postgresql+psycopg://user@host/name"
        ) from None
    if database_url.get_backend_name() not in _DIALECTS:
        raise CommandError(
            f"databases of the kind {database_url.get_backend_name()!r} are not supported; "
            "use sqlite or postgresql"
        )
    return database_url


def _engine(url: URL) -> Engine:
    try:
        return create_engine(url)
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise CommandError(
            f"the driver of {url.drivername} is not installed ({error}); install it, or write "
            "postgresql+psycopg://..."
        ) from None


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _reason(error: SQLAlchemyError) -> str:
    """Return the first line of the driver's own words."""
    words = str(error.orig) if isinstance(error, DatabaseError) else str(error)
    return (words.strip().splitlines() or ["unknown"])[0]


def _row(row: RowMapping) -> AgentExecution:
    values = dict(row)
    for key in ("created_at", "updated_at"):
        moment = values[key]
        assert isinstance(moment, datetime)
        # SQLite forgets the time zone, which is always UTC.
        values[key] = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return AgentExecution.model_validate(values)
