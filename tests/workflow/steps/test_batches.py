"""Model turns that a provider answers as batches: submitted, parked, collected."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.model.price import Price
from coterie.dsl.values import Json
from tests.support.engine import engine, trail
from tests.support.runs import scheduled
from tests.workflow.control.test_pause_and_amend import when
from tests.workflow.tool_loops.test_mcp_calls import replay

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    reader:
      batch: true
      prompts: { user: "Sum up." }
      output_schema: { type: object, properties: { gist: { type: string } }, required: [gist] }
orchestration:
  entry_team: only
  teams:
    only: { tasks: [{ name: sum_up, agent_type: generic_single_shot, persona_key: reader }] }
"""
HOURS = 3_600.0
USAGE = {"input_tokens": 1_000, "output_tokens": 100}
ANSWER: dict[str, Any] = {
    "task": "sum_up",
    "answer": {"gist": "rain"},
    "batch_seconds": 20 * HOURS,
    "usage": USAGE,
}
PRICES = {"demo": Price(input=1_000, output=1_000)}


async def parked(handle: Any) -> None:
    """Wait until the turn waits for its batch."""
    for _ in range(1_000):
        if any(entry.status == "batch" for entry in await trail(handle)):
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError("no batch was submitted")


async def test_a_turn_waits_for_its_batch_and_costs_half(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, [ANSWER], prices=PRICES) as running:
        handle: Any = await running.start(TEAM)
        result = await handle.result()
        calls = await scheduled(handle)
        because = [entry.because for entry in await trail(handle) if entry.status == "batch"]
        await replay(handle)
    assert result["output"] == {"sum_up": {"gist": "rain"}}
    started = [one["input"].get("started") for one in calls]
    assert started[0] is None
    assert len({one["custom_id"] for one in started[1:]}) == 1
    assert 20 * HOURS <= started[-1]["waited"] <= 20 * HOURS + 600
    assert len(calls) < 150
    assert len(because) == 1
    assert "batch coterie-" in because[0]
    assert result["model_calls"] == 1
    assert result["usage"] == USAGE
    assert result["cost"] == pytest.approx(0.55)


async def test_a_turn_without_a_batch_sends_and_keeps_nothing_of_one(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, [ANSWER]) as running:
        handle: Any = await running.start(TEAM.replace("batch: true", "batch: false"))
        await handle.result()
        (call,) = await scheduled(handle)
        history = (await handle.fetch_history()).to_json()
    assert "batch" not in str(call["input"])
    assert "in_progress" not in history
    assert "started" not in str(call["input"])


async def test_an_unusable_answer_is_asked_again_in_a_batch_of_its_own(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers = [{**ANSWER, "answer": "?"}, {**ANSWER, "reask": 1}]
    async with engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(TEAM)
        assert (await handle.result())["output"] == {"sum_up": {"gist": "rain"}}
        started = [one["input"].get("started") for one in await scheduled(handle)]
        await replay(handle)
    assert len({one["custom_id"] for one in started if one}) == 2
    assert started.count(None) == 2


async def test_a_batch_that_fails_lets_the_next_model_take_over(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    failed: Json = {"task": "sum_up", "contains": "Sum", "error": {"message": "expired"}}
    team = TEAM.replace("batch: true", "batch: true\n      fallback: [scripted/other]")
    async with engine(env, tmp_path, [failed]) as running:
        handle: Any = await running.start(team)
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        assert "fallback" in [entry.status for entry in await trail(handle)]


async def test_cancelling_a_run_cancels_its_batch(env: WorkflowEnvironment, tmp_path: Path) -> None:
    async with engine(env, tmp_path, [ANSWER]) as running:
        handle: Any = await running.start(TEAM)
        await parked(handle)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        last = (await scheduled(handle))[-1]["input"]
        await replay(handle)
    assert last["started"]["unwanted"] is True
    assert "persona" not in last


async def test_a_person_can_skip_a_turn_that_waits_for_its_batch(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, [ANSWER]) as running:
        handle: Any = await running.start(TEAM)
        await parked(handle)
        await handle.execute_update("skip", {"task": "sum_up", "by": "ann", "value": {"gist": "-"}})
        result = await handle.result()
        assert (result["end"], result["decisions"][0]["verdict"]) == ("completed", "skipped")
        assert (await scheduled(handle))[-1]["input"]["started"]["unwanted"] is True
        await replay(handle)


async def test_a_paused_run_does_not_look_at_its_batch(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, [ANSWER]) as running:
        handle: Any = await running.start(TEAM)
        await parked(handle)
        await handle.signal("pause", {"by": "ann"})
        await when(handle, "paused")
        before = len(await scheduled(handle))
        await env.sleep(timedelta(hours=2))
        assert len(await scheduled(handle)) <= before + 1
        await handle.signal("resume", {"by": "ann"})
        assert (await handle.result())["output"] == {"sum_up": {"gist": "rain"}}
