"""How branches end that a strategy no longer needs: at once, at the time limit, or unbegun."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from tests.support.engine import Engine, engine, trail

MAX_SECONDS = 5
"""In which the losers must have ended, on the clock of the run."""
ANSWERED = EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
CANCELLED = EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED
DECIDED = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
TIMER = EventType.EVENT_TYPE_TIMER_STARTED
WAITS = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: p
          type: parallel
          join: %s
          timeout: %s
          branches:
            one: [{name: first, type: wait, duration: 2s}]
            two: [{name: second, type: wait, duration: 4s}]
            three: [{name: third, type: wait, duration: 3h}]
            four: [{name: fourth, type: wait, duration: 4h}]
"""
CALLS = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: p
          type: parallel
          join: %s
          branches:
            one: [{name: quick, agent_type: generic_single_shot, persona_key: writer}]
            two: [{name: soon, agent_type: generic_single_shot, persona_key: writer}]
            three: [{name: slow, agent_type: generic_single_shot, persona_key: writer}]
"""


@pytest.fixture
async def here(env: WorkflowEnvironment, tmp_path: Path) -> AsyncGenerator[Engine]:
    answers: list[Json] = [
        {"task": "quick", "answer": "a"},
        {"task": "soon", "answer": "b"},
        {"task": "slow", "answer": "c", "seconds": 600},
    ]
    async with engine(env, tmp_path, answers, everything=False) as made:
        yield made


async def events(handle: Any) -> list[HistoryEvent]:
    return list((await handle.fetch_history()).events)


@pytest.mark.parametrize(("join", "ends", "winners"), [("any", 2, 1), ("2", 4, 2)])
async def test_the_other_branches_end_as_soon_as_enough_have_succeeded(
    here: Engine, join: str, ends: float, winners: int
) -> None:
    handle: Any = await here.start(WAITS % (join, "9h"))
    data = (await handle.result())["output"]["p"]
    statuses = [data[name]["status"] for name in ("one", "two", "three", "four")]
    assert statuses == ["success"] * winners + ["cancelled"] * (4 - winners)
    (step,) = (one for one in await trail(handle) if one.step == "p" and one.seconds is not None)
    assert step.seconds is not None
    assert ends <= step.seconds <= ends + MAX_SECONDS


async def test_best_ends_at_its_timeout_with_what_has_finished(here: Engine) -> None:
    handle: Any = await here.start(WAITS % ("best", "30s"))
    data = (await handle.result())["output"]["p"]
    assert data["winner"] == "one"  # equal priorities and scores: the faster one
    assert [data[name]["status"] for name in ("one", "two", "three", "four")] == [
        "success",
        "success",
        "cancelled",
        "cancelled",
    ]
    (step,) = (one for one in await trail(handle) if one.step == "p" and one.seconds is not None)
    assert step.seconds is not None
    assert 30 <= step.seconds <= 30 + MAX_SECONDS


async def test_fallback_never_starts_the_branches_after_the_first_success(here: Engine) -> None:
    handle: Any = await here.start(WAITS % ("fallback", "9h"))
    data = (await handle.result())["output"]["p"]
    assert [data[name]["status"] for name in ("one", "two", "three", "four")] == [
        "success",
        "skipped",
        "skipped",
        "skipped",
    ]
    history = await events(handle)
    timers = [event for event in history if event.event_type == TIMER]
    assert len(timers) == 2  # the time limit of the step, and the wait of its first branch
    never = {f"p/{name}" for name in ("two/second", "three/third", "four/fourth")}
    begun = {one.step for one in await trail(handle) if one.status != "skipped"}
    assert not never & begun


# The last tests: a call that nobody waits for any more keeps the server from skipping time.
@pytest.mark.parametrize(("join", "needed"), [("any", 1), ("2", 2)])
async def test_a_call_in_progress_is_cancelled_in_the_workflow_task_that_saw_the_winner(
    here: Engine, join: str, needed: int
) -> None:
    handle: Any = await here.start(CALLS % join)
    data = (await handle.result())["output"]["p"]
    assert data["three"]["status"] == "cancelled"
    history = await events(handle)
    kinds = [event.event_type for event in history]
    ended = [number for number, kind in enumerate(kinds) if kind == ANSWERED]
    cancelled = kinds.index(CANCELLED)
    assert ended[needed - 1] < cancelled
    assert kinds[ended[needed - 1] : cancelled].count(DECIDED) == 1
    end = kinds.index(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)
    assert kinds[cancelled:end].count(DECIDED) <= 2  # it waits for no answer of the lost call
