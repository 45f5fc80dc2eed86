"""However many branches a plan has, no workflow task is too long or too large for Temporal."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.workflows.temporal.pacer import MAX_CALL_BYTES, MAX_CALLS, MAX_STEPS
from tests.support.engine import Engine, engine
from tests.support.servers.temporal_server import time_skipping

Handle = Any
FAILED = EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
SCHEDULED = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
ANSWERED = EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
COMPLETED = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
TIMER = EventType.EVENT_TYPE_TIMER_STARTED
HEAD = """
orchestration:
  entry_team: work
  LIMIT
  teams:
    work:
      tasks:
"""
ASK = "agent_type: generic_single_shot, persona_key: writer"
NESTED = f"""{HEAD.replace("LIMIT", "max_concurrent_branches: 20")}
        - name: outer
          iterate_on: "{{{{ range(99999) }}}}"
          loop_variable: i
          concurrency: 1000
          body:
            - name: inner
              iterate_on: "{{{{ range(99999) }}}}"
              loop_variable: j
              concurrency: 1000
              body: [{{name: ask, STEP}}]
"""


@pytest.fixture(scope="module")
async def env() -> AsyncGenerator[WorkflowEnvironment]:
    """A server of its own: where a busy run is broken off, time is never skipped again."""
    async with time_skipping() as made:
        yield made


@pytest.fixture
async def here(env: WorkflowEnvironment, tmp_path: Path) -> AsyncGenerator[Engine]:
    answers: list[Json] = [{"task": "ask", "answer": "fine"}]
    async with engine(env, tmp_path, answers, everything=False) as made:
        yield made


async def events(handle: Handle) -> list[HistoryEvent]:
    return list((await handle.fetch_history()).events)


def tasks(history: list[HistoryEvent]) -> Iterator[list[HistoryEvent]]:
    """What each workflow task asked for."""
    asked: list[HistoryEvent] = []
    for event in history:
        if event.event_type == COMPLETED:
            yield asked
            asked = []
        elif event.event_type in (SCHEDULED, TIMER):
            asked.append(event)
    yield asked


async def test_nested_loops_of_99_999_items_go_on_step_by_step(here: Engine) -> None:
    handle: Handle = await here.start(NESTED.replace("STEP", "type: set, values: {x: 1}"))
    for _ in range(1000):
        history = await events(handle)
        assert FAILED not in [event.event_type for event in history]
        if sum(event.event_type == TIMER for event in history) >= 8:
            break
        await asyncio.sleep(0.05)  # between two looks
    else:
        raise AssertionError("it did not go on")
    status = await handle.query("status")
    rounds = [one["step"] for one in status["doing"] if one["step"].endswith("/inner")]
    assert len(rounds) == 20, "as many branches at once as the run's limit"
    assert all(len(asked) <= 1 for asked in tasks(history)), "one timer for all branches"


async def test_nested_loops_call_no_more_agents_at_once_than_the_run_has_branches(
    here: Engine,
) -> None:
    handle: Handle = await here.start(
        NESTED.replace("STEP", ASK).replace("99999", "30", 1).replace("99999", "5")
    )
    await handle.result()
    pending = most = calls = 0
    for event in await events(handle):
        calls += event.event_type == SCHEDULED
        pending += (event.event_type == SCHEDULED) - (event.event_type == ANSWERED)
        most = max(most, pending)
    assert (calls, most) == (150, 20)


async def test_a_parallel_step_of_two_thousand_branches_starts_them_in_portions(
    here: Engine,
) -> None:
    branches = "\n".join(
        f"            b{number}: [{{name: s{number}, type: set, values: {{}}}}]"
        for number in range(2000)
    )
    text = (
        f"{HEAD}        - name: many\n          type: parallel\n          branches:\n{branches}\n"
    )
    handle: Handle = await here.start(text.replace("LIMIT", ""))
    assert (await handle.result())["end"] == "completed"
    history = await events(handle)
    assert FAILED not in [event.event_type for event in history]
    portions = sum(event.event_type == TIMER for event in history)
    assert portions >= 2 * 2000 // MAX_STEPS - 1, "each branch is a start and a step"


async def test_agents_start_in_portions_on_the_ends_of_others_without_a_timer(
    here: Engine,
) -> None:
    handle: Handle = await here.start(f"""{HEAD.replace("LIMIT", "max_concurrent_branches: 300")}
        - name: each
          iterate_on: "{{{{ range(240) }}}}"
          loop_variable: n
          concurrency: 300
          body: [{{name: ask, {ASK}}}]
""")
    assert (await handle.result())["end"] == "completed"
    asked = [part for part in tasks(await events(handle)) if part]
    assert len(asked[0]) == MAX_CALLS
    assert max(len(part) for part in asked) == MAX_CALLS
    assert not [event for part in asked for event in part if event.event_type == TIMER]


async def test_requests_of_one_workflow_task_stay_below_what_a_completion_may_have(
    here: Engine,
) -> None:
    """Temporal refuses a completion of more than 4 MiB, for ever."""
    handle: Handle = await here.start(f"""{HEAD.replace("LIMIT", "")}
        - name: make
          type: set
          values: {{big: "{{{{ ('x' * 900000) ~ ('y' * 300000) }}}}"}}
        - name: each
          iterate_on: "{{{{ range(5) }}}}"
          loop_variable: n
          concurrency: 5
          body: [{{name: ask, {ASK}, input: {{text: "{{{{ big }}}}"}}}}]
""")
    assert (await handle.result())["end"] == "completed"
    sizes = [sum(event.ByteSize() for event in part) for part in tasks(await events(handle))]
    assert sum(sizes) > 2 * MAX_CALL_BYTES - 1
    assert max(sizes) <= MAX_CALL_BYTES + 10_000
