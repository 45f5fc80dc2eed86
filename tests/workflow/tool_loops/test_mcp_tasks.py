"""A call that an MCP server continues as a task: its handle stands in the history of the run."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from tests.support.engine import engine
from tests.support.runs import asked, scheduled
from tests.support.servers.mcp_tools import ledger, listing_of, mcp_servers, tasks_section
from tests.support.tool_functions import MAX_WAIT
from tests.workflow.tool_loops.test_mcp_calls import plan_with, replay

TEAM = """
name: builds
tools: { build: { mcp: demo/build } }
orchestration:
  entry_team: work
  teams:
    work:
      tasks: [{ name: make, tool: build, arguments: {} }]
"""
BUDGETED = TEAM.replace("orchestration:", "orchestration:\n  budgets: { tool_calls: 1 }")


@asynccontextmanager
async def building(env: WorkflowEnvironment, folder: Path, team: str = TEAM) -> AsyncGenerator[Any]:
    """A run that waits for a task of its server, whose tools may be called only once."""
    section = tasks_section(folder)
    async with mcp_servers(folder, {"demo": section}) as servers:
        plan = plan_with(section, await listing_of(servers, "demo"), team)
        async with engine(env, folder, [], servers=servers) as running:
            handle: Any = await running.start(plan)
            await noted(folder, "get")
            yield handle


async def noted(folder: Path, begins: str) -> None:
    """Wait until the server has noted a line."""
    for _ in range(50 * MAX_WAIT):
        if any(line.startswith(begins) for line in ledger(folder)):
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError(f"the server has not noted {begins}")


def state(folder: Path, name: str) -> None:
    (folder / "state").write_text(name)


@pytest.mark.parametrize("team", [TEAM, BUDGETED])
async def test_a_task_is_begun_by_one_activity_and_followed_by_another(
    env: WorkflowEnvironment, tmp_path: Path, team: str
) -> None:
    async with building(env, tmp_path, team) as handle:
        state(tmp_path, "completed")
        assert (await handle.result())["output"] == {"make": "built"}
        first, second = (one["input"] for one in await scheduled(handle))
        await replay(handle)
    assert ledger(tmp_path).count("call") == 1
    assert first["key"] == second["key"]
    assert second["given_input"]["asked"]["task"]["id"] == "t-1"


async def test_a_task_that_asks_a_person_gets_the_answer(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with building(env, tmp_path) as handle:
        state(tmp_path, "input_required")
        request = await asked(handle)
        assert (request["id"], request["prompt"]) == (
            "work/make/input#1",
            "The tool 'demo/build' asks: Which one?",
        )
        answer = {"id": request["id"], "decision": "approve", "payload": {"name": "x"}}
        await handle.execute_update("decide", answer)
        assert (await handle.result())["output"] == {"make": "built"}
        await replay(handle)
    assert ledger(tmp_path).count("call") == 1
    assert "update t-1 which x" in ledger(tmp_path)


async def test_cancelling_the_run_cancels_the_task(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with building(env, tmp_path) as handle:
        await handle.cancel()
        await noted(tmp_path, "cancel t-1")
        with pytest.raises(WorkflowFailureError):
            await handle.result()


async def test_a_forgotten_task_of_a_call_that_may_happen_once_has_an_unknown_outcome(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with building(env, tmp_path) as handle:
        (tmp_path / "forgotten").touch()
        with pytest.raises(WorkflowFailureError) as failed:
            await handle.result()
    assert "the outcome of demo/build is unknown" in str(failed.value.cause)
    assert ledger(tmp_path).count("call") == 1
