"""A run's picture from its history alone, and from its worker where history is not enough."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.model.sections.worker_document import CommandSection
from coterie.failures import CommandError
from coterie.graph.drawing.svg import svg_of
from coterie.graph.picture import picture
from coterie.graph.run_graph import SeenRun, seen_history, seen_run
from coterie.replay.rebuilt_run import NotFollowed, Rebuilt, rebuilt
from coterie.runs import run_client as runs
from coterie.runs.histories.recorded_plans import recorded_plan
from coterie.settings import load
from coterie.worker.compile_activity import CompileActivities
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.views import RunStatus, TeamResult
from coterie.workflows.team import TeamWorkflow
from tests.support.engine import Engine, engine, plan_of, trail
from tests.support.runs import asked, decide, failure
from tests.support.servers.temporal_server import suggesting_after
from tests.support.watching.prepared_sandbox import prepared_sandbox

PLAIN = """
orchestration:
  entry_team: draft
  teams:
    draft:
      tasks: [{ name: note, type: set, values: { n: 1 } }]
      routing:
        rules:
          - { condition: "{{ run.visit < 3 }}", next_team: draft }
          - { condition: all_success, next_team: review }
    review:
      tasks: [{ name: sign_off, type: approval, prompt: Good? }]
      routing:
        rules:
          - { condition: { task: sign_off, status: success }, next_team: null }
"""
FAN_OUT = """
orchestration:
  entry_team: begin
  teams:
    begin:
      tasks: [{ name: note, type: set, values: { n: 1 } }]
      routing: { rules: [{ next_team: [quick, slow, broken] }] }
    quick:
      tasks: [{ name: done, type: set, values: { a: 1 } }]
      routing: { rules: [{ next_team: gather }] }
    slow:
      tasks: [{ name: sleep, type: wait, signal: never }]
      routing: { rules: [{ next_team: gather }] }
    broken:
      tasks: [{ name: stop, type: fail, message: broken on purpose }]
      routing: { rules: [{ condition: all_success, next_team: gather }] }
    gather:
      type: concentrator
      collect: { timeout: 1h }
      tasks: [{ name: sign_off, type: approval, prompt: Good? }]
      routing: { default: null }
"""
LONG = """
orchestration:
  entry_team: ping
  max_total_teams: 200
  max_recursion_depth: 100
  teams:
    ping:
      tasks:
        - { name: say, agent_type: generic_single_shot, persona_key: writer }
        - { name: one, type: set, values: { n: 1 } }
        - { name: two, type: set, values: { n: 1 } }
        - { name: three, type: set, values: { n: 1 } }
      routing: { rules: [{ condition: "{{ run.visit < 40 }}", next_team: ping }], default: null }
"""
SAYS: list[dict[str, JsonValue]] = [{"task": "say", "answer": "pong"}]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def here(
    env: WorkflowEnvironment, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Engine]:
    async with engine(env, tmp_path_factory.mktemp("graph"), []) as made:
        yield made


async def test_a_run_that_waits_is_seen_where_it_waits_and_then_where_it_ended(
    here: Engine,
) -> None:
    handle: Any = await here.start(PLAIN)
    await asked(handle)
    seen = await seen_run(here.env.client, handle.id)
    assert seen.walk.standing == {"review": "waiting"}
    assert seen.walk.marks == {("draft", "note"): "success", ("review", "sign_off"): "waiting"}
    assert seen.walk.taken == {("draft", 1): (1, 2), ("draft", 2): (3,)}
    assert "waits for a person: review/sign_off#1" in seen.walk.headline
    await decide(handle, "review/sign_off#1")
    await handle.result()
    seen = await seen_run(here.env.client, handle.id)
    assert seen.walk.standing == {}
    assert seen.walk.visits == {"draft": 3, "review": 1}
    assert seen.walk.taken[("review", 1)] == (4,)
    assert seen.walk.headline.startswith("completed after 4 of 30 team visits")
    assert "run ends" in svg_of(picture(seen.plan), seen.walk)


async def test_history_tells_what_the_worker_would(here: Engine) -> None:
    """The same plan, trail and status as the queries, without asking anybody."""
    handle: Any = await here.start(PLAIN)
    await asked(handle)
    shown = await rebuilt(await handle.fetch_history())
    assert isinstance(shown, Rebuilt), shown
    asked_for = await trail(handle)
    times = {"at", "seconds"}  # which this server, who skips them, does not repeat exactly
    assert [one.model_dump(exclude=times) for one in shown.trail] == [
        one.model_dump(exclude=times) for one in asked_for
    ]
    status: RunStatus = await handle.query("status", result_type=RunStatus)
    assert shown.status.model_dump(exclude={"doing"}) == status.model_dump(exclude={"doing"})
    assert [one.step for one in shown.status.doing] == [one.step for one in status.doing]
    await decide(handle, "review/sign_off#1", "reject")
    await failure(handle)


async def test_a_failed_run_is_seen_where_it_failed_and_why(here: Engine) -> None:
    handle: Any = await here.start(PLAIN)
    await asked(handle)
    await decide(handle, "review/sign_off#1", "reject")
    await failure(handle)
    seen = await seen_run(here.env.client, handle.id)
    assert seen.walk.standing == {"review": "failed"}
    assert seen.walk.stranded == "review"
    assert seen.walk.headline.startswith("failed after 4 of 30 team visits: ")
    assert "sign_off" in seen.walk.headline


async def test_a_cancelled_run_stopped_where_it_was(here: Engine) -> None:
    handle: Any = await here.start(PLAIN)
    await asked(handle)
    await handle.terminate("enough of it")
    seen = await seen_run(here.env.client, handle.id)
    assert seen.walk.standing == {"review": "stopped"}
    assert "was terminated after 4 of 30 team visits" in seen.walk.headline


async def test_branches_of_a_fan_out_are_seen_as_they_ended(here: Engine) -> None:
    handle: Any = await here.start(FAN_OUT)
    await asked(handle, here.env)
    walk = (await seen_run(here.env.client, handle.id)).walk
    assert walk.visits == {"begin": 1, "quick": 1, "slow": 1, "broken": 1, "gather": 1}
    assert walk.standing == {"slow": "stopped", "broken": "failed", "gather": "waiting"}
    assert walk.taken == {("begin", 1): (1,), ("quick", 1): (2,)}
    await decide(handle, "gather/sign_off#1")
    await handle.result()


async def test_a_run_that_continued_as_new_is_seen_from_its_beginning(tmp_path: Path) -> None:
    async with suggesting_after(40) as env, engine(env, tmp_path, SAYS) as running:
        handle: Any = await running.start(LONG)
        await handle.result()
        last = await handle.fetch_history()
        assert last.events[0].workflow_execution_started_event_attributes.continued_execution_run_id
        alone = await seen_history(last)
        assert isinstance(alone, SeenRun), alone
        assert "the path starts at event" in alone.walk.headline
        walk = (await seen_run(env.client, handle.id)).walk
    assert walk.taken == {("ping", 1): tuple(range(1, 40)), ("ping", None): (40,)}
    assert "the path starts" not in walk.headline


async def test_the_plan_is_found_where_the_worker_compiled_it(here: Engine) -> None:
    queue = f"{here.queue}-compiling"
    commands = {"test": CommandSection(run=("pytest",))}  # which shipped personas name
    trusted = TrustedConfig(workspace=str(here.folder), commands=commands)
    compiling = CompileActivities(load(environ={}), trusted)
    document = PLAIN.replace("type: approval, prompt: Good?", "type: set, values: { ok: true }")
    async with Worker(
        here.env.client,
        task_queue=queue,
        workflows=[TeamWorkflow],
        activities=[compiling.compile_team],
        workflow_runner=prepared_sandbox(),
        build_id="test",
    ):
        handle: Any = await here.env.client.start_workflow(
            "TeamWorkflow", TeamInput(document=document), id=f"{queue}-run", task_queue=queue
        )
        await handle.result()
    plan = recorded_plan(await handle.fetch_history())
    assert plan is not None
    assert plan.digest == (await seen_run(here.env.client, handle.id)).plan.digest
    assert list(plan.teams) == ["draft", "review"]


@workflow.defn(name="TeamWorkflow")
class OtherVersion(TeamWorkflow):
    """Decides the same, but rests first: its histories cannot be followed by this code."""

    @workflow.init
    def __init__(self, raw: RawValue) -> None:
        super().__init__(raw)

    @workflow.run
    async def run(self, raw: RawValue) -> TeamResult:
        await workflow.sleep(1)
        return await super().run(raw)


async def test_a_run_of_another_version_is_seen_by_its_worker_or_reported_of(
    here: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = f"{here.queue}-other"
    handle: Any
    async with Worker(
        here.env.client,
        task_queue=queue,
        workflows=[OtherVersion],
        workflow_runner=UnsandboxedWorkflowRunner(),
        build_id="test",
    ):
        handle = await here.env.client.start_workflow(
            "TeamWorkflow", TeamInput(plan=plan_of(PLAIN)), id=f"{queue}-run", task_queue=queue
        )
        await asked(handle, here.env)
        unfollowed = await rebuilt(await handle.fetch_history())
        assert isinstance(unfollowed, NotFollowed)
        assert "Nondeterminism" in unfollowed.cause
        seen = await seen_run(here.env.client, handle.id)
        assert seen.walk.standing == {"review": "waiting"}
        assert seen.walk.taken == {("draft", 1): (1, 2), ("draft", 2): (3,)}
    monkeypatch.setattr(runs, "_ANSWER_SECONDS", timedelta(seconds=1))
    with pytest.raises(CommandError, match="another version of Coterie ran"):
        await seen_run(here.env.client, handle.id)
    await handle.terminate()


async def test_a_run_that_is_not_there_is_reported(here: Engine) -> None:
    with pytest.raises(CommandError, match="there is no run 'nobody'"):
        await seen_run(here.env.client, "nobody")
