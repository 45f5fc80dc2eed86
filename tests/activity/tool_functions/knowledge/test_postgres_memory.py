"""A database of memories that is away, lacks something, or is opened by many at once."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import create_engine
from temporalio.exceptions import ApplicationError

from coterie.activities.tool_functions.knowledge.embedding import embedder
from coterie.activities.tool_functions.knowledge.memory.memory_schema import config, upgrade
from coterie.activities.tool_functions.knowledge.memory.memory_store import MemoryFilter
from coterie.activities.tool_functions.knowledge.memory.postgres_memory import (
    PostgresMemory,
    close_databases,
    open_postgres_memory,
    transaction,
)
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.activities.workspace.memory_access import MemoryAccess
from tests.support.databases.postgres_server import postgres, programs
from tests.support.tool_functions import call

__all__ = ["postgres"]


def sql(address: str, *statements: str) -> str:
    """Run statements as the superuser; return what the last one prints."""
    commands = [part for one in statements for part in ("-c", one)]
    run = subprocess.run(
        [programs() / "psql", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *commands, address],
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.strip()


@pytest.fixture
def database(postgres: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty database."""
    name = request.node.name[5:50]
    sql(postgres, f'create database "{name}"')
    yield postgres.replace("/postgres?", f"/{name}?")
    close_databases()


def opened(address: str, project: str = "shop") -> PostgresMemory:
    return open_postgres_memory(address, project, embedder().embed)


def workspace(folder: Path, address: str | None) -> Workspace:
    return Workspace(folder, memory=MemoryAccess("MEMORY_URL", address, "shop"))


def test_workers_that_start_together_create_the_tables_once(database: str) -> None:
    def prepare(address: str) -> None:
        engine = create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
        with transaction(engine) as connection:
            upgrade(connection)
        engine.dispose()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(prepare, [database] * 4))
    assert sql(database, "select count(*) from coterie_memory_version") == "1"


def test_the_tables_go_down_and_up_again(database: str) -> None:
    opened(database)
    close_databases()
    engine = create_engine(database.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        command.downgrade(config(connection), "base")
    engine.dispose()
    tables = "select string_agg(tablename, ' ') from pg_tables where schemaname = 'public'"
    assert sql(database, tables) == "coterie_memory_version"
    assert opened(database).entries(MemoryFilter(), 10, 0.0) == []


async def test_projects_of_one_database_are_apart(database: str, tmp_path: Path) -> None:
    await call(workspace(tmp_path, database), "Memory.store", {"text": "of the shop"})
    other = Workspace(tmp_path, memory=MemoryAccess("MEMORY_URL", database, "bank"))
    assert await call(other, "Memory.search", {"query": "shop"}) == {"memories": []}
    assert opened(database, "bank").forget(MemoryFilter(), 0.0) == 0
    assert len(opened(database).entries(MemoryFilter(), 10, 0.0)) == 1


async def test_a_role_without_rights_on_the_schema_uses_tables_that_exist(
    database: str, tmp_path: Path
) -> None:
    opened(database)
    sql(
        database,
        "create role worker login",
        "grant select, insert, update, delete on coterie_memories, coterie_memory_chunks to worker",
        "grant select on coterie_memory_version to worker",
    )
    as_worker = database.replace("//postgres@", "//worker:hunter2@")
    place = workspace(tmp_path, as_worker)
    await call(place, "Memory.store", {"text": "The port is 80."})
    assert "hunter2" not in opened(as_worker).location
    sql(database, "revoke insert on coterie_memories from worker")
    with pytest.raises(ApplicationError, match=r"permission denied.*grant the worker's") as caught:
        await call(place, "Memory.store", {"text": "The port is 81."})
    assert caught.value.non_retryable
    assert "hunter2" not in caught.value.message


async def test_a_role_that_may_not_add_the_extension_says_who_does(
    database: str, tmp_path: Path
) -> None:
    sql(database, "create role plain login", "grant create on schema public to plain")
    as_plain = database.replace("//postgres@", "//plain@")
    with pytest.raises(ApplicationError, match="create extension vector") as caught:
        await call(workspace(tmp_path, as_plain), "Memory.store", {"text": "x"})
    assert caught.value.non_retryable


async def test_a_connection_that_the_server_has_closed_is_opened_again(
    database: str, tmp_path: Path
) -> None:
    place = workspace(tmp_path, database)
    await call(place, "Memory.store", {"text": "The port is 80."})
    sql(
        database,
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and pid <> pg_backend_pid()",
    )
    data = await call(place, "Memory.search", {"query": "port"})
    assert "The port is 80." in str(data)


async def test_a_database_that_is_away_may_come_back(tmp_path: Path) -> None:
    address = "postgresql://ann:hunter2@/shop?host=/nowhere"
    with pytest.raises(ApplicationError, match="does not answer") as caught:
        await call(workspace(tmp_path, address), "Memory.search", {"query": "x"})
    assert not caught.value.non_retryable
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (None, "MEMORY_URL of the worker is not set"),
        ("nonsense hunter2", "is no URL; write postgresql://"),
        ("mysql://ann:hunter2@host/shop", "cannot be kept in 'mysql'"),
    ],
)
async def test_a_wrong_address_is_refused(tmp_path: Path, address: str | None, words: str) -> None:
    with pytest.raises(ApplicationError, match=words) as caught:
        await call(workspace(tmp_path, address), "Memory.store", {"text": "x"})
    assert caught.value.non_retryable
    assert "hunter2" not in caught.value.message


def test_the_address_of_the_database_shows_nowhere(database: str) -> None:
    access = MemoryAccess("MEMORY_URL", "postgresql://ann:hunter2@host/shop")
    assert "hunter2" not in repr(access)
    with pytest.raises(FunctionFailure) as caught:
        opened("postgresql+nothing://ann:hunter2@host/shop")
    assert "hunter2" not in str(caught.value)


def test_the_place_of_a_receipt_shows_no_password(database: str) -> None:
    memory = opened(f"{database}&password=secret-word&sslpassword=secret-word")
    assert "secret-word" not in memory.location
    assert "project shop" in memory.location
