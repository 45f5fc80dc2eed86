"""The tables of memories in PostgreSQL, and their migrations."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, MetaData, text

METADATA = MetaData()

VERSIONS = "coterie_memory_version"
"""Alembic's own table, under a name that does not meet a program's own migrations."""

MIGRATIONS = Path(__file__).parent / "migrations"

_LOCK = 6_021_370_418
"""The advisory lock under which one worker at a time changes the schema; any number of ours."""


def upgrade(connection: Connection) -> None:
    """Create the tables, or bring them to the latest form; other workers wait meanwhile."""
    connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    command.upgrade(config(connection), "head")


def config(connection: Connection) -> Config:
    """Return what alembic needs to migrate by an open connection."""
    configuration = Config()
    configuration.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    configuration.attributes["connection"] = connection
    return configuration
