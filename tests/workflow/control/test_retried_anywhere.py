"""A failed run is retried where it failed, wherever it has continued as new before."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from coterie.control.fork_point import point_of_failure
from coterie.dsl.values import Json
from coterie.settings import load
from coterie.testing.simulation.case_server import time_skipping_server
from tests.support.engine import Engine, engine
from tests.support.runs import failure

Handle = Any
HEAD = """
orchestration:
  entry_team: first
  teams:
    first: { tasks: [{ name: begin, type: wait, duration: 1s }], routing: { default: work } }
    work:
      tasks:
        - { name: pay, agent_type: generic_single_shot, persona_key: writer }
        - name: rest
          type: block
          STOPS
          steps:
            - { name: pause, type: wait, duration: 1s }
            - { name: bad, type: set, values: { x: "{{ context.way[context.who] }}" } }
        - { name: last, type: wait, duration: 1s }
"""
STEP = HEAD.replace("          STOPS\n", "")
LATER = (
    HEAD.replace("STOPS", "on_failure: continue")
    + """      routing:
        rules: [{ condition: "{{ context.way[context.who] }}", next_team: null }]
"""
)
"""No step fails, but the rule: the visit is repeated."""


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[Client]:
    """The real server."""
    async with time_skipping_server(load()) as client:
        yield client


@pytest.fixture
async def here(server: Client, tmp_path: Path) -> AsyncGenerator[Engine]:
    answers: list[Json] = [{"task": "pay", "answer": "paid"}]
    async with engine(WorkflowEnvironment.from_client(server), tmp_path, answers) as made:
        yield made


@pytest.mark.parametrize(
    ("team", "at"),
    [
        pytest.param(STEP, "work#1/rest/bad", id="step"),
        pytest.param(LATER, "work#1", id="visit"),
    ],
)
async def test_a_failed_run_is_retried_where_it_failed_wherever_it_continued_as_new(
    here: Engine, monkeypatch: pytest.MonkeyPatch, team: str, at: str
) -> None:
    suggested = 10_000

    def once(info: workflow.Info) -> bool:
        return info.continued_run_id is None and info.get_current_history_length() >= suggested

    monkeypatch.setattr(workflow.Info, "is_continue_as_new_suggested", once)
    context: Json = {"who": "ann", "way": {"ben": True}}
    whole: Handle = await here.start(team, context)
    await failure(whole)
    events = len((await whole.fetch_history()).events)
    assert (await point_of_failure(here.client, whole.id, None)).at == at
    for suggested in range(3, events, 7):
        handle: Handle = await here.start(team, context)
        await failure(handle)
        found = await point_of_failure(here.client, handle.id, None)
        assert found.at == at, f"moved after {suggested} events"
        fork: Handle = await here.start_raw({"fork": {"run": handle.id}})
        await failure(fork)
        again: Handle = await here.start_raw({"fork": {"run": fork.id, "updates": {"who": "ben"}}})
        result = await again.result()
        assert result["model_calls"] == 1, f"moved after {suggested} events"
