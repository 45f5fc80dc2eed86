"""People hold a run, let it go on, and change its context at the next step."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.testing import WorkflowEnvironment

from tests.support.engine import engine, trail
from tests.support.servers.temporal_server import time_skipping

WAITING = """
orchestration:
  entry_team: first
  teams:
    first:
      tasks:
        - {name: nap, type: wait, duration: 1h}
        - {name: sign, type: approval, prompt: "Go on?", deadline: 2d, on_timeout: reject}
      routing: {rules: [{condition: all_success, next_team: second}], default: refused}
    second:
      tasks: [{name: say, type: set, values: {said: "{{ context.word | default('nothing') }}"}}]
      routing:
        rules: [{condition: all_success, next_team: null, context_updates: {said: "{{ said }}"}}]
    refused:
      tasks: [{name: mark, type: set, values: {late: true}}]
"""
Handle = Any  # its updates take any payload


@pytest.fixture
async def env() -> AsyncGenerator[WorkflowEnvironment]:
    async with time_skipping() as made:
        yield made


async def when(handle: Handle, state: str) -> Any:
    for _ in range(4000):
        status = await handle.query("status")
        if status["state"] == state:
            return status
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError(f"the run never was {state}")


async def asked(env: WorkflowEnvironment, handle: Handle) -> Any:
    while not (pending := await handle.query("pending")):
        await env.sleep(timedelta(minutes=20))
    return pending[0]


async def test_a_paused_run_starts_nothing_and_its_deadlines_stand_still(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(WAITING)
        request = await asked(env, handle)
        await handle.signal("pause", {"by": "ann", "why": "lunch"})
        status = await when(handle, "paused")
        assert (status["paused"]["by"], status["paused"]["why"]) == ("ann", "lunch")
        await env.sleep(timedelta(days=5))
        [waiting] = await handle.query("pending")
        assert waiting["id"] == request["id"], "five days of pause are not two days of waiting"
        await handle.signal("resume", {"by": "ann"})
        await when(handle, "waiting")
        [moved] = await handle.query("pending")
        assert moved["deadline"] > request["deadline"]
        await env.sleep(timedelta(days=1))
        decision = {"id": request["id"], "decision": "approve", "by": "ben"}
        await handle.execute_update("decide", decision)
        result = await handle.result()
        assert result["context"] == {"said": "nothing"}
        reasons = [entry.because for entry in await trail(handle) if entry.kind == "control"]
        assert reasons == ["paused by ann: lunch", "resumed by ann"]


async def test_a_deadline_that_runs_out_after_a_pause_still_counts(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(WAITING)
        await asked(env, handle)
        await handle.signal("pause", {})
        await env.sleep(timedelta(days=3))
        await handle.signal("resume", {})
        result = await handle.result()
        assert result["visits"] == {"first": 1, "refused": 1}


async def test_a_decision_is_taken_while_paused_and_acted_on_afterwards(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(WAITING)
        request = await asked(env, handle)
        await handle.signal("pause", {"by": "ann"})
        decision = {"id": request["id"], "decision": "approve", "by": "ben"}
        await handle.execute_update("decide", decision)
        status = await when(handle, "paused")
        assert "second" not in status["visits"]
        await handle.signal("resume", {"by": "ann"})
        assert (await handle.result())["visits"]["second"] == 1


async def test_an_amendment_changes_the_context_at_the_next_step_and_is_recorded(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(WAITING)
        request = await asked(env, handle)
        change = {"updates": {"word": "amended"}, "by": "ann", "why": "a better word"}
        assert await handle.execute_update("amend", change) == 1
        decision = {"id": request["id"], "decision": "approve", "by": "ben"}
        await handle.execute_update("decide", decision)
        result = await handle.result()
        assert result["context"] == {"word": "amended", "said": "amended"}
        entries = [entry for entry in await trail(handle) if entry.kind == "control"]
        assert [(entry.because, entry.updated) for entry in entries] == [
            ("amended word by ann: a better word", ("word",))
        ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"updates": {}}, "at least one path"),
        ({"updates": {"word.deeper": 1}}, "cannot be set"),
        ({"update": {"a": 1}}, "this is not an amendment"),
    ],
)
async def test_an_amendment_that_cannot_be_is_refused_at_once(
    env: WorkflowEnvironment, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(WAITING, {"word": "a text"})
        await asked(env, handle)
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await handle.execute_update("amend", change)
        assert message in str(refused.value.cause)
