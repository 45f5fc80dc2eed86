"""A pause holds up a wait for a duration, and does not move a wait for a time."""

from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import WorkflowEnvironment

from tests.support.engine import engine
from tests.support.servers.temporal_server import time_skipping
from tests.workflow.control.test_pause_and_amend import when

WAITING = """
orchestration:
  entry_team: rest
  teams:
    rest:
      tasks:
        - {name: nap, type: wait, WAIT}
"""


@pytest.fixture
async def env() -> AsyncGenerator[WorkflowEnvironment]:
    async with time_skipping() as made:
        yield made


async def hours_of(env: WorkflowEnvironment, folder: Path, wait: str, paused_hours: int) -> float:
    """Run the wait with a pause that begins an hour after its start; when it ended, in hours."""
    began = await env.get_current_time()
    morning = (began + timedelta(hours=3)).isoformat()
    async with engine(env, folder, []) as running:
        handle: Any = await running.start(
            WAITING.replace("WAIT", wait), context={"morning": morning}
        )
        await when(handle, "running")
        await env.sleep(timedelta(hours=1))
        await handle.signal("pause", {})
        await when(handle, "paused")
        await env.sleep(timedelta(hours=paused_hours))
        await handle.signal("resume", {})
        result = await handle.result()
        ended = await env.get_current_time()
        until = datetime.fromisoformat(result["output"]["nap"]["until"])
        assert abs(until - ended) < timedelta(minutes=5) or wait.startswith("time")
        return round((ended - began) / timedelta(hours=1), 1)


@pytest.mark.parametrize(
    ("wait", "paused_hours", "ends_after"),
    [
        ("duration: 3h", 2, 5),
        ('time: "{{ context.morning }}"', 1, 3),
        ('time: "{{ context.morning }}"', 5, 6),
    ],
)
async def test_a_duration_stands_still_in_a_pause_and_a_time_does_not_move(
    env: WorkflowEnvironment, tmp_path: Path, wait: str, paused_hours: int, ends_after: int
) -> None:
    assert await hours_of(env, tmp_path, wait, paused_hours) == ends_after
