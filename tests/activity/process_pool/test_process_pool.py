"""Work in processes of the pool: warm, at low priority, within limits, ended with its call."""

import asyncio
import os
from collections.abc import AsyncGenerator, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from coterie.activities.process_pool.pool_child import NICENESS
from coterie.activities.process_pool.process_pool import (
    MAX_CHILDREN,
    MAX_STARTS,
    PER_RUN,
    ProcessPool,
)
from coterie.activities.process_pool.work import Work, WorkEnded
from coterie.dsl.values import Json
from tests.support.programs.pool_work import FAIL, GROW, LEAVE, MISS, SPIN, SPIN_BRIEFLY, WHERE
from tests.support.tool_functions import environment
from tests.support.watching.processes import is_running


@pytest_asyncio.fixture
async def pool() -> AsyncGenerator[ProcessPool]:
    made = ProcessPool(cores=1)
    yield made
    await made.close()


def of_run(run: str, call: Coroutine[Any, Any, Json]) -> asyncio.Task[Json]:
    """Make a call in an activity of a run."""
    at = environment()
    at.info = replace(at.info, workflow_id=run)

    async def made() -> Json:
        return await call

    return asyncio.create_task(at.run(made))


async def written(note: Path, lines: int = 1) -> list[int]:
    """Wait until so many processes have written down their ids."""
    while len(found := _lines(note)) < lines:  # noqa: ASYNC110  # processes share no Event
        await asyncio.sleep(0.02)
    return [int(line) for line in found]


def _lines(note: Path) -> list[str]:
    return note.read_text().splitlines() if note.exists() else []


async def stopped(*calls: asyncio.Task[Json]) -> None:
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)


async def test_calls_share_a_warm_process_of_low_priority_without_secrets(
    pool: ProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    first, second = [await pool.run(WHERE, text) for text in ("a", "\u00e9\n")]
    assert first["pid"] == second["pid"] != os.getpid()
    assert second["given"] == "\u00e9\n"
    assert first["nice"] == min(os.nice(0) + NICENESS, 19)
    assert first["session"] == str(NICENESS)
    assert first["environment"] in ([], ["LC_CTYPE"])


@pytest.mark.parametrize(
    ("work", "given", "limit", "says"),
    [
        (SPIN_BRIEFLY, "", "cpu", "it needs more than 0 s of CPU"),
        (GROW, str(1 << 30), "memory", "it needs more than 200 MB of memory"),
    ],
)
async def test_a_call_beyond_its_limit_ends_and_the_next_one_works(
    pool: ProcessPool, work: Work[str, Json], given: str, limit: str, says: str
) -> None:
    with pytest.raises(WorkEnded, match=says) as ended:
        await pool.run(work, given)
    assert ended.value.limit == limit
    assert (await pool.run(GROW, "9"))["size"] == 9


async def test_a_bug_of_the_work_is_no_end_of_its_process(pool: ProcessPool) -> None:
    with pytest.raises(RuntimeError, match="fail raised LookupError: me"):
        await pool.run(FAIL, "me")
    with pytest.raises(ModuleNotFoundError) as missing:
        await pool.run(MISS, "no_such_module")
    assert missing.value.name == "no_such_module"


async def test_a_cancelled_call_ends_with_all_its_processes(
    pool: ProcessPool, tmp_path: Path
) -> None:
    call = asyncio.create_task(pool.run(LEAVE, str(tmp_path / "pid")))
    [pid] = await written(tmp_path / "pid")
    await stopped(call)
    assert not is_running(pid)


async def test_a_run_has_a_few_processes_and_its_neighbours_take_turns_with_them(
    pool: ProcessPool, tmp_path: Path
) -> None:
    """With one core, a neighbour's call ends although endless calls began before it."""
    hostile = [of_run("hostile", pool.run(SPIN, str(tmp_path / "pids"))) for _ in range(9)]
    begun = await written(tmp_path / "pids", PER_RUN)
    results = [await of_run("neighbour", pool.run(WHERE, str(n))) for n in range(3)]
    assert [one["given"] for one in results] == ["0", "1", "2"]
    assert await written(tmp_path / "pids") == begun
    await stopped(*hostile)
    assert not any(map(is_running, begun))


def test_neither_a_run_nor_many_starts_take_all_processes() -> None:
    assert PER_RUN * 4 <= MAX_CHILDREN - MAX_STARTS
