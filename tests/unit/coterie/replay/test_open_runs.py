"""Open runs are replayed a few at once, and one that cannot be replayed stops no other."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from coterie.replay.replay import AT_ONCE, Comparison
from tests.support.servers.recorded_client import Recorded, client_of

IDS = "abcdef"


async def executions(listed: list[str], ids: str = IDS) -> AsyncIterator[WorkflowExecution]:
    for id in ids:
        listed.append(id)
        status = WorkflowExecutionStatus.COMPLETED
        yield cast("Any", SimpleNamespace(id=id, status=status, task_queue="work"))


async def test_no_more_runs_than_fit_into_memory_are_replayed_at_once() -> None:
    listed: list[str] = []
    open_runs = Comparison(await client_of(Recorded([]))).open_runs(executions(listed))
    first = await anext(open_runs)
    assert len(listed) == AT_ONCE
    rest = [one async for one in open_runs]
    assert sorted(one.run for one in (first, *rest)) == list(IDS)
    assert all(one.problem.startswith(f"there is no run {one.run!r}") for one in rest)


async def test_replays_whose_result_nobody_wants_are_cancelled() -> None:
    known = Recorded([])
    known.silent.update("bcd")
    before = asyncio.all_tasks()
    open_runs = Comparison(await client_of(known)).open_runs(executions([]))
    assert (await anext(open_runs)).run == "a"
    left = asyncio.all_tasks() - before
    await open_runs.aclose()
    await asyncio.wait(left, timeout=5)
    assert [task.cancelled() for task in left] == [True] * (AT_ONCE - 1)
