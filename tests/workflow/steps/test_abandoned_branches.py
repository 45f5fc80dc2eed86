"""A branch that stopped for the next history, and that nobody needs then, ends like any loser."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.replay.replay import replay
from coterie.runs.histories.history_links import links
from coterie.workflows.temporal import durable_scope
from tests.support.engine import Engine, engine, trail
from tests.support.runs import scheduled

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: { prompts: { user: "Say {{ input }}." } }
    slow: { batch: true, prompts: { user: "Say {{ input }}." } }
    finder: { prompts: { user: Find. }, tools: [look] }
tools:
  look: { skill: Files.list, description: Lists files., requires_approval: before }
orchestration:
  entry_team: work
  teams:
"""


def ask(name: str, persona: str = "writer", conversation: bool = False) -> str:
    talk = ", conversation: talk" if conversation else ""
    return (
        f"{{ name: {name}, agent_type: generic_single_shot, persona_key: {persona}, "
        f"input: {name}{talk} }}"
    )


WIN, AFTER, TIDY = ask("win"), ask("after", conversation=True), ask("tidy")
HOLD = ask("hold", "slow", conversation=True)
"""A turn that waits for its batch for hours."""
SEARCH = "{ name: search, persona_key: finder, conversation: talk }"
"""An agent that waits for the approval of a call."""
LONG = "{ name: long, type: wait, duration: 9h }"
TRIED = f"{{ name: tried, type: try, steps: [{LONG}], finally: [{TIDY}] }}"
NESTED = f"{{ name: both, type: parallel, branches: {{ one: [{TRIED}], two: [{HOLD}] }} }}"
ASKED = "{ name: asked, type: approval, prompt: Go on? }"
TICKS = "[{ name: tick, type: wait, duration: 0.1s }, { name: tock, type: wait, duration: 9h }]"
"""While the winner works, this begins the workflow task in which the others stop."""
TOCKS = "[{ name: tock, type: wait, duration: 9h }]"
"""Where a loser's call begins that task: the test server fails a task that cancels a timer which
fires at the same moment."""
RACE = f"""    work:
      tasks:
        - name: race
          type: parallel
          join: any
          branches: {{ waits: [LOSER], ticks: {TICKS}, wins: [{WIN}] }}
        - {AFTER}
"""
CALLED = RACE.replace(TICKS, TOCKS)
FAN_OUT = f"""    work:
      tasks: [{{ name: begin, type: set, values: {{ begun: true }} }}]
      routing: {{ rules: [{{ condition: all_success, next_team: [waits, ticks, wins] }}] }}
    waits: {{ tasks: [LOSER], routing: {{ default: join }} }}
    ticks: {{ tasks: {TICKS}, routing: {{ default: join }} }}
    wins: {{ tasks: [{WIN}], routing: {{ default: join }} }}
    join: {{ type: concentrator, collect: {{ count: 1 }}, tasks: [{AFTER}] }}
"""
LOOP = f"""    work:
      tasks:
        - name: rounds
          type: loop
          iterate_on: [waits, ticks, wins]
          loop_variable: round
          concurrency: 3
          on_failure: continue
          body:
            - {{ name: waits, type: block, when: "{{{{ round == 'waits' }}}}", steps: [LOSER] }}
            - {{ name: ticks, type: block, when: "{{{{ round == 'ticks' }}}}", steps: {TICKS} }}
            - {{ name: wins, type: block, when: "{{{{ round == 'wins' }}}}", steps: [FAILS] }}
        - {AFTER}
""".replace("FAILS", WIN.replace(" }", ', fail_when: "{{ true }}" }'))
GRAPH = f"""    work:
      tasks:
        - name: graph
          type: task_graph
          tasks: [{{ id: waits }}, {{ id: ticks }}, {{ id: wins }}]
          task_variable: round
          concurrency: 3
          on_failed_task: stop
          on_failure: continue
          body:
            - {{ name: waits, type: block, when: "{{{{ round.id == 'waits' }}}}", steps: [LOSER] }}
            - {{ name: ticks, type: block, when: "{{{{ round.id == 'ticks' }}}}", steps: {TICKS} }}
            - {{ name: wins, type: block, when: "{{{{ round.id == 'wins' }}}}", steps: [FAILS] }}
        - {AFTER}
""".replace("FAILS", WIN.replace(" }", ', fail_when: "{{ true }}" }'))
ANSWERS: list[Json] = [
    {"task": "win", "answer": "won", "seconds": 0.5},
    {"task": "work", "answer": "worked", "seconds": 60},
    *({"task": name, "answer": "said"} for name in ("after", "tidy")),
    {"task": "hold", "answer": "held", "batch_seconds": 10_000},
    {"task": "search", "turn": 1, "tool_calls": [{"tool": "look"}]},
]


@pytest.fixture
async def here(
    env: WorkflowEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Engine]:
    """Runs that shall continue as new soon after their first workflow task, once."""

    def once(info: workflow.Info) -> bool:
        return info.continued_run_id is None and info.get_current_history_length() > 4

    monkeypatch.setattr(workflow.Info, "is_continue_as_new_suggested", once)
    monkeypatch.setattr(durable_scope, "OVERDUE_EVENTS", 0)  # else all would go on beside a call
    async with engine(env, tmp_path, ANSWERS, everything=False) as running:
        yield running


async def calls(here: Engine, handle: Any) -> list[str]:
    """The model calls of a run over all its histories; a batch that is given up ends in `-`."""
    found: list[str] = []
    async for link in links(here.client, handle.id):
        assert (await replay(link)).differences == ()
        part = here.client.get_workflow_handle(link.workflow_id, run_id=link.run_id)
        for one in await scheduled(part):
            sent: Any = one["input"]
            unwanted = (sent.get("started") or {"unwanted": False})["unwanted"]
            found.append(f"{sent['task']}{'-' if unwanted else ''}")
    return found


async def ticked(handle: Any) -> None:
    """Wait until the branches that wait have stopped for the next history."""
    for _ in range(1_000):
        if any(entry.step and entry.step.endswith("tick") for entry in await trail(handle)):
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError("it did not tick")


@pytest.mark.parametrize(
    ("team", "loser", "expected"),
    [
        pytest.param(CALLED, HOLD, ["hold", "win", "hold-", "after"], id="batch"),
        pytest.param(RACE, TRIED, ["win", "tidy", "after"], id="finally"),
        pytest.param(CALLED, NESTED, ["win", "hold", "tidy", "hold-", "after"], id="nested"),
        pytest.param(FAN_OUT, TRIED, ["win", "tidy", "after"], id="fan-out"),
        pytest.param(LOOP, TRIED, ["win", "tidy", "after"], id="loop"),
        pytest.param(GRAPH, TRIED, ["win", "tidy", "after"], id="graph"),
        pytest.param(RACE, ASKED, ["win", "after"], id="approval"),
    ],
)
async def test_a_branch_that_nobody_needs_any_more_is_cleaned_up_before_the_next_step(
    here: Engine, team: str, loser: str, expected: list[str]
) -> None:
    handle: Any = await here.start(HEAD + team.replace("LOSER", loser))
    await handle.result()
    assert await calls(here, handle) == expected
    assert await handle.query("pending") == []


async def test_an_agent_that_nobody_needs_any_more_leaves_the_results_of_its_calls(
    here: Engine,
) -> None:
    handle: Any = await here.start(HEAD + CALLED.replace("LOSER", SEARCH))
    await handle.result()
    last = (await scheduled(handle))[-1]["input"]
    assert last["task"] == "after"
    assert [one["failed"] for one in last["conversation"]["left"]] == [True]
    assert await handle.query("pending") == []


async def test_a_cancelled_run_cleans_up_what_has_stopped_for_the_next_history(
    here: Engine,
) -> None:
    """The cancelled call is a long one: the test server loses a task that cancels an ended call."""
    handle: Any = await here.start(HEAD + RACE.replace(WIN, ask("work")).replace("LOSER", TRIED))
    await ticked(handle)
    await handle.cancel()
    with pytest.raises(WorkflowFailureError):
        await handle.result()
    assert await calls(here, handle) == ["work", "tidy"]
