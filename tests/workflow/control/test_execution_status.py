"""A program changes the status of a run by its repository: the run itself, and then its row."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import CancelledError
from temporalio.testing import WorkflowEnvironment

from coterie.executions.execution_repository import AgentExecutionRepository, open_table
from coterie.failures import CommandError
from tests.support.engine import Engine, engine

ASKING = """
orchestration:
  entry_team: first
  teams:
    first: { tasks: [{ name: hear, type: wait, signal: go, deadline: 30d }] }
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def here(
    env: WorkflowEnvironment, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Engine]:
    async with engine(env, tmp_path_factory.mktemp("status"), []) as made:
        yield made


async def status(handle: WorkflowHandle[Any, Any]) -> Any:
    return await handle.query("status")


async def test_a_repository_pauses_resumes_and_cancels_the_run_itself(
    here: Engine, tmp_path: Path
) -> None:
    table = open_table(f"sqlite:///{tmp_path / 'runs.db'}")
    table.upgrade()
    handle = await here.start(ASKING)
    repository = AgentExecutionRepository(table, here.client)
    assert await repository.load_state(handle.id) is None
    await status(handle)  # it has begun
    assert (await repository.save_state(handle.id)).status == "running"

    paused = await repository.update_status(handle.id, "paused", "ann", "lunch")
    assert (paused.status, paused.state_snapshot["pause_reason"]) == ("paused", "lunch")
    assert (await status(handle))["paused"]["by"] == "ann"
    assert await repository.load_state(handle.id) == paused

    assert (await repository.update_status(handle.id, "running", "ann")).status == "running"
    assert "paused" not in await status(handle)

    with pytest.raises(ValueError, match="no run is completed from outside"):
        await repository.update_status(handle.id, "completed")

    assert (await repository.update_status(handle.id, "failed", "ann")).status == "failed"
    with pytest.raises(WorkflowFailureError) as ended:
        await handle.result()
    assert isinstance(ended.value.cause, CancelledError)
    row = await repository.save_state(handle.id)
    assert row.state_snapshot["standing"] == "cancelled"
    with pytest.raises(CommandError):
        await repository.update_status(handle.id, "running")
