"""Runs on a server are replayed while they go on: all links, against what their worker decided.

The worker keeps the interpreter inside its sandbox, so a test can change the code that replays
and leave the code that runs as it is: as it is with a new version before it is deployed.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution as WorkflowExecutionMessage
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import WorkflowExecution
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.evaluate.routing import Route, choose
from coterie.dsl.model.causes import RuleMatched
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.plan import Team
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.replay.replay import Comparison, RunReplayed
from coterie.replay.replay_report import row, same_text, total
from coterie.runs import run_client as runs
from coterie.runs.run_client import Run
from coterie.runs.run_list import open_executions
from coterie.workflows import interpreter
from tests.replay.record import CASES
from tests.support.engine import Engine, engine
from tests.support.servers.temporal_server import suggesting_after

WAITING = """
orchestration:
  entry_team: first
  teams:
    first:
      tasks: [{name: begin, type: set, values: {begun: true}}]
      routing: {rules: [{condition: all_success, next_team: last, context_updates: {word: said}}]}
    last:
      tasks: [{name: sign, type: approval, prompt: "Go on?"}]
"""
ANSWERS: list[Json] = [{"task": "ask", "answer": "noted"}]


@pytest.fixture(scope="module")
async def here() -> AsyncGenerator[WorkflowEnvironment]:
    """The real server; a run continues as new after a few events."""
    async with suggesting_after(14) as env:
        yield env


@asynccontextmanager
async def waiting(env: WorkflowEnvironment, folder: Path) -> AsyncGenerator[tuple[Engine, Any]]:
    """A worker, and a run that waits for a person."""
    async with engine(env, folder, ANSWERS) as running:
        handle: Any = await running.start(WAITING)
        while True:
            if await handle.query("pending"):
                break
            await asyncio.sleep(0.05)  # between two looks
        yield running, handle


async def all_open(env: WorkflowEnvironment, id: str) -> list[RunReplayed]:
    """The open runs of one queue, which are those of one test."""
    while True:
        found = open_executions(env.client, f"WorkflowId = '{id}'")
        seen = [one async for one in Comparison(env.client).open_runs(found)]
        if seen:
            return seen
        await asyncio.sleep(0.1)  # the list of runs is a little behind


async def test_every_link_of_a_run_that_continued_as_new_is_replayed(
    here: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(here, tmp_path, ANSWERS) as running:
        handle = await running.start((CASES / "long.yml").read_text(), {"sum": 1})
        await handle.result()
        done = await Comparison(here.client).run(handle.id)
    assert (done.links, done.calls, done.same) == (3, 6, True)
    assert "in 3 links of test-" in same_text(done)
    assert "the same calls and the same 12 decisions" in same_text(done)


async def test_a_run_that_waits_is_compared_with_what_its_worker_decided(
    here: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with waiting(here, tmp_path) as (_, handle):
        [done] = await all_open(here, handle.id)
    assert (done.same, done.end, done.compared) == (True, None, 4)
    assert row(done).startswith(f"same     {handle.id}  ")
    assert "it is still open, and its worker reports the same 4 decisions" in row(done)


async def test_a_decision_that_no_call_has_used_yet_is_reported(
    here: WorkflowEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_another_rule(team: Team, facts: Facts) -> Route:
        return replace(choose(team, facts), cause=RuleMatched("rule", 7))

    monkeypatch.setattr(interpreter, "choose", by_another_rule)
    async with waiting(here, tmp_path) as (_, handle):
        [done] = await all_open(here, handle.id)
    assert row(done) == (
        f"differs  {handle.id}  decision 3 (route of first#1): cause: "
        'recorded ...: "rule", "number": 1, "condition": {"code": "team", "outcome": '
        '"all_success", "tasks": [["begin"..., now ...: "rule", "number": 7, "condition": null, '
        '"left_out": []}'
    )
    assert total([done]) == "0 of 1 run the same, 1 decided differently"


async def test_another_value_in_the_context_is_reported_by_its_digest_alone(
    here: WorkflowEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def altered(team: Team, facts: Facts) -> Route:
        return replace(choose(team, facts), writes=(ContextWrite("word", "meant"),))

    monkeypatch.setattr(interpreter, "choose", altered)
    async with waiting(here, tmp_path) as (_, handle):
        [done] = await all_open(here, handle.id)
    assert "another value that a route sets in the context" in done.differences[0]


async def test_a_run_that_no_worker_serves_is_compared_by_its_calls(
    here: WorkflowEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "_ANSWER_SECONDS", timedelta(seconds=1))
    async with waiting(here, tmp_path) as (running, handle):
        running.runs.clear()  # it goes on when the worker is gone
    [done] = await all_open(here, handle.id)
    assert (done.same, done.compared) == (True, None)
    assert "and no worker reported its decisions" in row(done)
    await handle.terminate()


async def test_a_run_that_nobody_has_begun_yet_is_no_problem(
    here: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "_ANSWER_SECONDS", timedelta(seconds=1))
    handle = await here.client.start_workflow("TeamWorkflow", {}, id="early", task_queue="nobody")
    [done] = await all_open(here, handle.id)
    assert (done.same, done.calls) == (True, 0)
    await handle.terminate()


async def test_one_run_that_cannot_be_replayed_does_not_hold_up_the_others(
    here: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with waiting(here, tmp_path) as (running, handle):
        other: Any = await running.start(WAITING)
        listed: list[WorkflowExecution] = []
        while len(listed) < 2:
            either = f"WorkflowId IN ('{handle.id}', '{other.id}')"
            listed = [one async for one in open_executions(here.client, either)]
        gone = DeleteWorkflowExecutionRequest(
            namespace="default", workflow_execution=WorkflowExecutionMessage(workflow_id=handle.id)
        )
        await here.client.workflow_service.delete_workflow_execution(gone)
        with suppress(CommandError):
            while True:
                await Run(here.client, handle.id).history()
                await asyncio.sleep(0.05)  # the server deletes in its own time

        async def both() -> AsyncGenerator[WorkflowExecution]:
            for one in listed:
                yield one

        found = {one.run: one async for one in Comparison(here.client).open_runs(both())}
    assert row(found[handle.id]).startswith(f"cannot   {handle.id}  there is no run")
    assert found[other.id].same
    assert total(list(found.values())) == "1 of 2 runs the same, 1 could not be replayed"
