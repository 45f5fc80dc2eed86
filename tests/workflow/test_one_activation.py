"""What comes to a run in one and the same workflow task is all taken, in an order that holds."""

import asyncio
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import CancelledError
from temporalio.worker import Worker
from temporalio.worker._workflow_instance import (
    _WorkflowLogicFlag as Flag,  # pyright: ignore[reportPrivateUsage]
)

from coterie.settings import load
from coterie.testing.simulation.test_server import time_skipping_server
from coterie.worker.workflow_sandbox import sandbox
from tests.support.engine import plan_of, trail
from workflows.core.messages import TeamInput
from workflows.team import TeamWorkflow

Handle = Any
TEAM = """
orchestration:
  entry_team: work
  max_total_teams: 1
  teams:
    other: {tasks: [{name: idle, type: set, values: {n: 1}}]}
    work:
      tasks:
"""


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[Client]:
    """The real server: it forgets a worker that has ended at once."""
    async with time_skipping_server(load()) as client:
        yield client


@asynccontextmanager
async def served(server: Client, queue: str, flags: tuple[Flag, ...] = ()) -> AsyncGenerator[None]:
    """A worker that keeps no run in memory; the run makes no calls."""
    worker = Worker(
        server,
        task_queue=queue,
        workflows=[TeamWorkflow],
        workflow_runner=sandbox(everything=True),
        build_id="test",
        max_cached_workflows=0,
    )
    for flag in flags:
        worker._set_default_workflow_logic_flag(flag, enabled=True)  # pyright: ignore[reportPrivateUsage]
    async with worker:
        yield


async def begun(server: Client, queue: str, text: str, step: str) -> Handle:
    """A run that has come to a step, where no worker serves it any more."""
    handle: Handle = await server.start_workflow(
        "TeamWorkflow", TeamInput(plan=plan_of(text)), id=f"test-{uuid.uuid4()}", task_queue=queue
    )
    async with served(server, queue):
        for _ in range(4000):
            status = await handle.query("status")
            if step in [one["step"] for one in status["doing"]]:
                return handle
    raise AssertionError(f"{step} never began")


async def timer_fired(handle: Handle) -> None:
    """Wait until the server has recorded that a time is up."""
    for _ in range(4000):
        events = (await handle.fetch_history()).events
        if any(event.event_type == EventType.EVENT_TYPE_TIMER_FIRED for event in events):
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError("no timer fired")


@pytest.mark.parametrize("flags", [(), tuple(Flag)], ids=["as it is", "every flag of the SDK"])
async def test_a_decision_counts_when_it_comes_with_its_deadline(
    server: Client, flags: tuple[Flag, ...]
) -> None:
    queue = f"test-{uuid.uuid4()}"
    sign = "{name: sign, type: approval, prompt: 'Well?', deadline: 1s, on_timeout: fail}"
    handle = await begun(server, queue, f"{TEAM}        - {sign}\n", "work/sign")
    await handle.signal("approve", {"id": "work/sign#1", "by": "ann"})
    await timer_fired(handle)
    async with served(server, queue, flags):
        assert (await handle.result())["end"] == "completed"
        decided = [entry for entry in await trail(handle) if entry.kind == "approval"]
        assert [entry.status for entry in decided] == ["approved"]


@pytest.mark.parametrize(
    "last", ["team: other", "type: return, value: 1"], ids=["meets a limit", "returns"]
)
async def test_a_cancelled_run_ends_as_cancelled_when_a_branch_ends_the_block_at_that_moment(
    server: Client, last: str
) -> None:
    queue = f"test-{uuid.uuid4()}"
    tasks = f"[{{name: wait, type: wait, duration: 1s}}, {{name: again, {last}}}]"
    for level in range(4):  # the limit is met before the cancel has come down to it
        tasks = f"""[{{name: level{level}, type: parallel, branches: {{
            held: [{{name: hold{level}, type: wait, duration: 1h}}],
            limit: {tasks},
            rest: [{{name: rest{level}, type: wait, duration: 1h}}]}}}}]"""
    text = f"{TEAM}        {tasks}\n".replace("tasks:\n        [", "tasks: [")
    handle = await begun(server, queue, text, "work/level3/rest/rest3")
    await timer_fired(handle)
    await handle.cancel()
    async with served(server, queue):
        with pytest.raises(WorkflowFailureError) as failed:
            await handle.result()
        assert isinstance(failed.value.cause, CancelledError)
        ended = {entry.step: entry.status for entry in await trail(handle) if entry.kind == "step"}
        for step in ("hold3", "rest3", "hold0", "rest0"):
            assert [ended[one] for one in ended if str(one).endswith(step)] == ["cancelled"]


async def test_branches_that_are_stopped_have_all_ended_before_the_run_goes_on(
    server: Client,
) -> None:
    """The second of four fails as it is stopped; the third still has to clean up."""
    text = """
orchestration:
  entry_team: work
  teams:
    next: {tasks: [{name: first, type: set, values: {n: 1}}]}
    work:
      tasks:
        - name: race
          type: parallel
          join: any
          branches:
            quick: [{name: wait, type: wait, duration: 1s}]
            returns:
              - name: guarded
                type: try
                steps: [{name: hold, type: wait, duration: 1h}]
                finally: [{name: back, type: return, value: 1}]
            cleans:
              - name: swept
                type: try
                steps: [{name: work, type: wait, duration: 1h}]
                finally:
                  - {name: slowly, type: wait, duration: 1s}
                  - {name: clean, type: set, values: {n: 1}}
            last: [{name: stay, type: wait, duration: 1h}]
      routing: {default: next}
"""
    queue = f"test-{uuid.uuid4()}"
    handle = await begun(server, queue, text, "work/race/last/stay")
    async with served(server, queue):
        await handle.result()
        told = [(entry.team, entry.step) for entry in await trail(handle)]
    assert told.index(("work", "race/cleans/swept/clean")) < told.index(("next", None))
