"""AgentExecution: what a row of a run has, and that SQLite keeps and returns it."""

from io import StringIO
from pathlib import Path

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from coterie.cli import main
from coterie.executions.agent_execution import AgentExecution, execution_of
from coterie.executions.execution_repository import open_table
from coterie.executions.execution_table import EXECUTIONS, MIGRATIONS, VERSIONS, ExecutionTable
from coterie.failures import CommandError
from coterie.storage.histories import read_history
from coterie.workflows.core.state import RunState
from tests.support.places import HISTORIES

COLUMNS = ["id", "session_id", "status", "state_snapshot", "created_at", "updated_at"]


async def row_of(name: str) -> AgentExecution:
    return await execution_of(read_history(HISTORIES / f"{name}.0.1.0.json"))


@pytest.fixture
def table(tmp_path: Path) -> ExecutionTable:
    made = open_table(f"sqlite:///{tmp_path / 'runs.db'}")
    made.upgrade()
    return made


def tables(folder: Path) -> list[str]:
    return inspect(create_engine(f"sqlite:///{folder / 'runs.db'}")).get_table_names()


async def test_a_row_is_the_state_that_the_run_itself_carries_along() -> None:
    row = await row_of("review_loop")
    assert row.status == "completed"
    assert row.session_id == row.id
    assert row.created_at <= row.updated_at
    snapshot = row.state_snapshot
    carried = snapshot["state"]
    assert isinstance(carried, dict)
    state = RunState.resumed(carried)
    assert state.main.context == snapshot["context"]
    assert state.carried() == carried
    assert (snapshot["standing"], snapshot["pause_reason"]) == ("completed", None)


async def test_a_fork_belongs_to_the_session_of_its_origin() -> None:
    row = await row_of("forked")
    assert row.session_id != row.id


async def test_sqlite_returns_the_row_that_was_saved(table: ExecutionTable) -> None:
    row = await row_of("tool_agent")
    assert table.get(row.id) is None
    table.put(row)
    assert table.get(row.id) == row


async def test_the_state_of_an_older_history_does_not_replace_a_newer_one(
    table: ExecutionTable,
) -> None:
    row = await row_of("tool_agent")
    table.put(row)
    table.put(row.model_copy(update={"status": "running", "updated_at": row.created_at}))
    assert table.get(row.id) == row
    table.put(row.model_copy(update={"status": "failed"}))
    kept = table.get(row.id)
    assert kept is not None
    assert kept.status == "failed"


def test_migrations_go_up_and_down_and_up_again(table: ExecutionTable, tmp_path: Path) -> None:
    assert tables(tmp_path) == ["agent_executions", VERSIONS]
    table.upgrade()  # nothing is left to do
    engine = create_engine(f"sqlite:///{tmp_path / 'runs.db'}")
    found = inspect(engine)
    assert [column["name"] for column in found.get_columns("agent_executions")] == COLUMNS
    assert [column.name for column in EXECUTIONS.columns] == COLUMNS, "what the code uses"
    assert [index["name"] for index in found.get_indexes("agent_executions")] == [
        "ix_agent_executions_session_id"
    ]
    table.remove()
    assert tables(tmp_path) == [VERSIONS]
    table.upgrade()
    assert tables(tmp_path) == ["agent_executions", VERSIONS]


def test_on_postgresql_the_migration_creates_the_table_that_the_code_uses() -> None:
    written = StringIO()
    context = MigrationContext.configure(
        dialect_name="postgresql", opts={"as_sql": True, "output_buffer": written}
    )
    scripts = ScriptDirectory(str(MIGRATIONS))
    with Operations.context(context):
        for one in scripts.walk_revisions():
            one.module.upgrade()
            one.module.downgrade()
    sql = " ".join(written.getvalue().split())
    dialect = postgresql.dialect()
    (index,) = EXECUTIONS.indexes
    for wanted in (CreateTable(EXECUTIONS), CreateIndex(index)):
        assert " ".join(str(wanted.compile(dialect=dialect)).split()) in sql
    assert "state_snapshot JSONB NOT NULL" in sql
    assert "DROP TABLE agent_executions" in sql


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("runs.db", "not the URL of a database"),
        ("mysql://root:secret@host/x", "'mysql' are not supported"),
        ("postgresql+nodriver://u:secret@host/x", "driver of postgresql.nodriver"),
        ("sqlite:////no/such/folder/runs.db", "no/such/folder/runs.db refuses: unable to open"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_sentence_without_a_password(
    url: str, message: str
) -> None:
    with pytest.raises(CommandError, match=message) as raised:
        open_table(url).upgrade()
    assert "secret" not in str(raised.value)


def test_the_command_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RUNS_URL", raising=False)
    assert main(["export"]) == 2
    assert main(["export", "--remove-table"]) == 2
    assert main(["export", "--downgrade"]) == 2
    assert main(["export", "--remove-table", "--sql", "env:RUNS_URL"]) == 2
    said = capsys.readouterr().err
    assert "name the runs" in said
    assert "--remove-table takes --sql URL" in said
    assert "`--downgrade` is `--remove-table` now" in said
    assert "RUNS_URL is not set" in said
