"""Threads for each kind of blocking work, shared between runs."""

import ast
import asyncio
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from temporalio.testing import ActivityEnvironment

from coterie.activities.threads.run_threads import RunThreads

ROOT = Path(__file__).parents[4]
ALLOWED = {
    "activities/user_code/agent_functions.py": "runs in a child process, which serves one call",
    "coterie/worker/worker_service.py": "a command's own files, before it serves",
}


def test_a_worker_uses_no_default_thread_pool() -> None:
    found: set[str] = set()
    for room in ("activities", "coterie/worker", "coterie/storage", "workflows"):
        for file in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                match node:
                    case ast.Attribute(attr="to_thread") | ast.alias(name="to_thread"):
                        found.add(file.relative_to(ROOT).as_posix())
                    case ast.Call(
                        func=ast.Attribute(attr="run_in_executor"), args=[ast.Constant(), *_]
                    ):
                        found.add(file.relative_to(ROOT).as_posix())
                    case _:
                        continue
    assert found == set(ALLOWED)


def of_run(run: str) -> ActivityEnvironment:
    at = ActivityEnvironment()
    at.info = replace(at.info, workflow_id=run)
    return at


async def test_a_run_that_fills_its_threads_leaves_the_others_to_its_neighbours() -> None:
    threads, end = RunThreads("t", threads=3, per_run=2), Event()

    async def waits() -> None:
        await threads.run(end.wait)

    hostile = [asyncio.create_task(of_run("hostile").run(waits)) for _ in range(9)]

    async def works() -> str:
        return await threads.run(str.upper, "a")

    assert await of_run("neighbour").run(works) == "A"
    end.set()
    await asyncio.wait(hostile)


async def test_a_cancelled_call_keeps_its_thread_until_its_work_ends() -> None:
    threads, end, order = RunThreads("t", threads=1, per_run=1), Event(), list[str]()

    def work() -> None:
        end.wait()
        order.append("work ended")

    left = asyncio.create_task(threads.run(work))
    await asyncio.sleep(0)
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    following = asyncio.create_task(threads.run(order.append, "next began"))
    await asyncio.sleep(0)
    assert order == []
    end.set()
    await following
    assert order == ["work ended", "next began"]


async def test_a_caller_that_waits_for_its_work_goes_on_when_it_has_ended() -> None:
    threads, end, order = RunThreads("t", threads=1, per_run=1), Event(), list[str]()

    def work() -> None:
        end.wait()
        order.append("work ended")

    waiting = asyncio.create_task(threads.finish(work))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    end.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert order == ["work ended"]
