"""A call that continues as a task, although nobody waits for it any more, ends the task."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.workflows.core.messages import SkipInput
from tests.support.engine import engine, trail
from tests.support.simulation.late_task import NAME, LateTask

PATIENCE = 60.0
TEAM = """
tools: {build: {skill: Test.build}}
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: first
          type: parallel
          join: any
          branches:
            signalled: [{name: wake, type: wait, signal: woken}]
            built: [{name: make, tool: build, arguments: {}}]
        - {name: after, type: wait, signal: finished}
"""


@pytest.mark.parametrize("way", ["lost", "skipped"])
async def test_a_task_that_begins_too_late_is_ended_and_nobody_asks_for_it(
    env: WorkflowEnvironment, tmp_path: Path, way: str
) -> None:
    builder = LateTask()
    functions = {NAME: builder.function()}
    async with engine(env, tmp_path, [], functions=functions, everything=False) as running:
        handle: Any = await running.start(builder.plan(TEAM))
        await asyncio.wait_for(builder.begun.wait(), PATIENCE)
        if way == "lost":
            await handle.signal("woken")
        else:
            await handle.execute_update("skip", SkipInput(task="make", by="ann"))
        await asyncio.wait_for(builder.ended.wait(), PATIENCE)
        assert (await handle.query("status"))["state"] in ("running", "waiting")
        await handle.signal("woken")
        await handle.signal("finished")
        output = (await handle.result())["output"]["first"]
        statuses = [one.status for one in await trail(handle) if one.step == "first/built/make"]
    assert builder.looks == 0
    assert output["built"]["status"] == ("cancelled" if way == "lost" else "skipped")
    # of a call that may happen only once, whose result nobody saw: its outcome is unknown
    assert statuses == ["started", "failure" if way == "lost" else "skipped"]
