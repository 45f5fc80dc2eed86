"""A long run continues as new at a step's boundary, and nothing of it is lost or done twice."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.executions.agent_execution import read_execution
from coterie.runs.histories.recorded_plans import started_name
from coterie.runs.new_runs import start_run
from coterie.workflows.core.memo_keys import FORKED_FROM
from coterie.workflows.core.messages import ForkInput, TeamInput
from coterie.workflows.temporal import durable_scope
from tests.support.engine import Engine, engine
from tests.support.runs import asked, decide
from tests.support.servers.temporal_server import suggesting_after

LONG = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Number {{ number }}."}}
    long:
      execution_plan:
        - {name: begin, type: set, values: {sum: 0}}
        - name: rounds
          type: loop
          iterate_on: "{{ range(40) }}"
          loop_variable: number
          body:
            - {name: ask, agent_type: generic_single_shot, persona_key: writer}
            - {name: add, type: set, values: {sum: "{{ sum + number }}"}}
        - name: guarded
          type: try
          steps:
            - {name: not_now, type: set, values: {now: true}, when: "{{ false }}"}
            - {name: bad, type: fail, message: on purpose}
          catch: [{steps: [{name: caught, type: set, values: {caught: "{{ error.message }}"}}]}]
          finally: [{name: last, type: set, values: {last: true}}]
orchestration:
  entry_team: count
  teams:
    count:
      tasks:
        - {name: sign, type: approval, prompt: "Count?", deadline: 3d}
        - {name: all, agent_type: generic_orchestrating, persona_key: long}
      routing:
        rules:
          - condition: all_success
            next_team: null
            context_updates: {sum: "{{ tasks.all.data.sum }}"}
"""


async def test_a_loop_goes_on_in_the_middle_over_many_histories(tmp_path: Path) -> None:
    answers: list[Json] = [{"task": "ask", "answer": "noted"}]
    async with suggesting_after(50) as env, engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(LONG)
        first = (await handle.describe()).run_id
        for _ in range(2000):
            if await handle.query("pending"):
                break
            await asyncio.sleep(0.05)  # between two looks
        await decide(handle, "count/sign#1")
        result = cast("Json", await handle.result())
        assert result["context"] == {"sum": sum(range(40))}
        assert result["model_calls"] == 40
        assert cast("list[Any]", result["decisions"])[0]["by"] == "ann"
        histories = 0
        run_id: str | None = first
        while run_id:
            part = env.client.get_workflow_handle(handle.id, run_id=run_id)
            events = (await part.fetch_history()).events
            assert len(events) < 80
            histories += 1
            last = cast("Any", events[-1])
            run_id = last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
        assert histories > 3
        await _keeps_its_memo(running, handle)


async def _keeps_its_memo(running: Engine, origin: Any) -> None:
    """What lists show of a run is in the latest part of its chain, too."""
    client = running.client
    assert await started_name(client, await origin.describe()) == "test", "started without a memo"
    fork = TeamInput(fork=ForkInput(run=origin.id, at="count#1", by="ann"))
    run = await start_run(client, "2026", fork, task_queue=running.queue, summary="night")
    handle: Any = run.handle
    for _ in range(2000):
        if FORKED_FROM in await (await handle.describe()).memo():
            break
        await asyncio.sleep(0.05)  # between two looks
    await decide(handle, (await asked(handle))["id"])
    await handle.result()
    latest = await handle.describe()
    started = latest.raw_description.workflow_execution_info.first_run_id
    assert latest.run_id != started, "it continued as new"
    assert await latest.memo() == {
        "started": "night",
        "forked_from": f"{origin.id} at count#1",
        "forked_run": origin.id,
    }
    assert await started_name(client, latest) == "night"
    assert (await read_execution(client, "2026")).session_id == origin.id


WAYS = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Number {{ input }}."}}
orchestration:
  entry_team: count
  teams:
    count:
      tasks:
        - name: ways
          type: parallel
          timeout: 3d
          branches:
            left:
              - name: left_rounds
                iterate_on: "{{ range(30) }}"
                loop_variable: x
                body:
                  - {name: ask, agent_type: generic_single_shot, persona_key: writer, input: 1,
                     conversation: shared}
            right:
              - name: right_rounds
                iterate_on: "{{ range(30) }}"
                loop_variable: y
                concurrency: 3
                body:
                  - {name: tell, agent_type: generic_single_shot, persona_key: writer, input: 2}
            person:
              - {name: sign, type: approval, prompt: "Count?", deadline: 3d}
            word:
              - {name: word, type: wait, signal: word, deadline: 2d}
      routing: {default: null}
"""


async def parts(env: WorkflowEnvironment, handle: Any) -> list[list[Any]]:
    """The events of each history of a run, oldest first."""
    run_id: str | None = (await handle.describe()).raw_info.first_run_id
    found: list[list[Any]] = []
    while run_id:
        part = env.client.get_workflow_handle(handle.id, run_id=run_id)
        found.append(list((await part.fetch_history()).events))
        last = found[-1][-1].workflow_execution_continued_as_new_event_attributes
        run_id = last.new_execution_run_id
    return found


async def test_ways_at_once_go_on_over_many_histories_and_nothing_is_asked_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable_scope, "OVERDUE_EVENTS", 60)
    answers: list[Json] = [{"task": "ask", "answer": "a"}, {"task": "tell", "answer": "b"}]
    async with (
        suggesting_after(60) as env,
        engine(env, tmp_path, answers, everything=False) as running,
    ):
        handle: Any = await running.start(WAYS)
        for _ in range(400):
            if (await handle.query("status"))["model_calls"] == 60:
                break
            await asyncio.sleep(0.05)  # between two looks
        await handle.signal("word", "now")
        await decide(handle, "count/ways/person/sign#1")
        result = cast("Json", await handle.result())
        histories = await parts(env, handle)
    assert result["model_calls"] == 60
    output = cast("Any", result["output"])
    assert [way["status"] for way in output["ways"].values()] == ["success"] * 4
    assert output["left_rounds"]["rounds"] == output["right_rounds"]["rounds"] == 30
    assert output["word"] == "now"
    assert len(histories) > 3
    assert max(len(events) for events in histories) < 120


PATIENT = """
orchestration:
  entry_team: wait
  teams:
    wait:
      tasks:
        - {name: sign, type: approval, prompt: "Well?", remind_every: 1s, deadline: 40s,
           on_timeout: reject}
"""


async def test_a_wait_with_very_many_reminders_does_not_fill_its_history(tmp_path: Path) -> None:
    async with suggesting_after(30) as env, engine(env, tmp_path, []) as running:
        handle: Any = await running.start(PATIENT.replace("40s", "12s"))
        for _ in range(300):
            described = await handle.describe()
            if described.status != WorkflowExecutionStatus.RUNNING:
                break
            await asyncio.sleep(0.1)  # between two looks
        histories = await parts(env, handle)
    assert len(histories) > 1
    assert max(len(events) for events in histories) < 60


ROOMY = """
orchestration:
  entry_team: grow
  max_total_teams: 1000
  max_recursion_depth: 1000
  teams:
    grow:
      tasks:
        - name: turns
          iterate_on: "{{ range(12) }}"
          loop_variable: n
          body:
            - {name: kept, type: set, values: {one: "{{ 'x' * (900000 if n < 11 else 1) }}",
               two: "{{ one }}", three: "{{ one }}"}}
            - {name: ask, agent_type: generic_single_shot, persona_key: writer}
        - {name: ask_last, agent_type: generic_single_shot, persona_key: writer}
"""


async def test_run_stays_in_its_history_while_its_state_is_too_large(tmp_path: Path) -> None:
    answers: list[Json] = [{"task": "ask", "answer": "a"}, {"task": "ask_last", "answer": "b"}]
    async with suggesting_after(30) as env, engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(ROOMY)
        result = cast("Json", await handle.result())
        assert result["model_calls"] == 13
        assert len(await parts(env, handle)) == 1


RACE = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: race
          type: parallel
          join: any
          branches:
            fast: [{ name: quick, type: wait, duration: 1s }]
            slow:
              - { name: long, type: wait, duration: 20s }
              - { name: late, agent_type: generic_single_shot, persona_key: writer }
"""


async def test_a_race_ends_that_is_decided_where_the_run_is_to_continue_as_new(
    tmp_path: Path,
) -> None:
    answers: list[Json] = [{"task": "late", "answer": "it has lost"}]
    async with suggesting_after(8) as env, engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(RACE)
        await handle.result()
        events = await parts(env, handle)
    kinds = [EventType.Name(event.event_type).removeprefix("EVENT_TYPE_") for event in events[-1]]
    assert kinds.count("TIMER_STARTED") == 2
    assert "ACTIVITY_TASK_SCHEDULED" not in kinds
    assert kinds[-2:] == ["TIMER_CANCELED", "WORKFLOW_EXECUTION_COMPLETED"]
