"""A worker that accepts no plans runs what it compiles itself, and refuses all else with advice."""

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer, Worker

from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.settings import load
from coterie.storage.wire import data_converter
from coterie.worker.compile_activity import CompileActivities
from coterie.worker.fork_activity import ForkActivities
from coterie.worker.plan_policy import PlanPolicy, RunCallsOnly
from coterie.workflows.core.messages import ForkInput, TeamInput
from coterie.workflows.team import TeamWorkflow
from tests.support.engine import HEAD, plan_of
from tests.support.runs import asked
from tests.support.watching.prepared_sandbox import prepared_sandbox

DOCUMENT = """
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
        - {name: first, type: set, values: {x: 1}}
        - {name: rest, type: wait, duration: 1s}
        - {name: sign, type: approval, prompt: "Go on?"}
"""
SIGNED = {"id": "only/sign#1", "decision": "approve", "by": "ann"}


class Fleet:
    """Workers of one queue."""

    def __init__(self, env: WorkflowEnvironment, folder: Path) -> None:
        self.client, self.queue = env.client, f"raw-{uuid.uuid4()}"
        (folder / "config").mkdir()
        (folder / "coterie.yml").touch()
        settings = load({}, folder)
        trusted = trusted_catalog(settings, Catalog(settings), None)
        self._compiler = CompileActivities(settings, trusted)

    @asynccontextmanager
    async def worker(
        self, *, accept_plans: bool, policy: PlanPolicy | None = None
    ) -> AsyncGenerator[None]:
        policy = policy or PlanPolicy(accept_plans=accept_plans)
        forks = ForkActivities(self.client, policy)
        async with Worker(
            self.client,
            task_queue=self.queue,
            workflows=[TeamWorkflow],
            activities=[self._compiler.compile_team, forks.fork_run],
            interceptors=[policy, RunCallsOnly()],
            workflow_runner=prepared_sandbox(),
            build_id="test",
            # a run that another worker begins does not wait for the one that has it in memory
            max_cached_workflows=0 if accept_plans else 1000,
        ):
            yield

    async def start(self, given: TeamInput, id: str | None = None) -> Any:
        return await self.client.start_workflow(
            "TeamWorkflow", given, id=id or f"raw-{uuid.uuid4()}", task_queue=self.queue
        )


@pytest.fixture
def fleet(env: WorkflowEnvironment, tmp_path: Path) -> Fleet:
    return Fleet(env, tmp_path)


async def refusal(handle: Any) -> str:
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == "RunRefused"
    return failed.value.cause.message


async def replayed(handle: Any, policy: Mapping[str, bool]) -> None:
    replayer = Replayer(
        workflows=[TeamWorkflow],
        data_converter=data_converter,
        workflow_runner=prepared_sandbox(),
        interceptors=[PlanPolicy(accept_plans=policy["accept_plans"])] if policy else [],
        build_id="test",
    )
    await replayer.replay_workflow(await handle.fetch_history())


async def test_a_raw_plan_is_refused_with_advice_and_replays_as_refused(fleet: Fleet) -> None:
    async with fleet.worker(accept_plans=False):
        handle = await fleet.start(TeamInput(plan=plan_of(DOCUMENT)))
        message = await refusal(handle)
    assert "start the run by the name of a team, or with its document" in message
    assert "`worker.accept_plans`" in message
    for policy in ({"accept_plans": True}, {"accept_plans": False}, {}):
        await replayed(handle, policy)


async def test_a_document_is_compiled_by_the_worker_that_accepts_no_plans(fleet: Fleet) -> None:
    async with fleet.worker(accept_plans=False):
        handle = await fleet.start(TeamInput(document=HEAD + DOCUMENT))
        await asked(handle)
        await handle.execute_update("decide", SIGNED)
        assert (await handle.result())["end"] == "completed"
        fork = await fleet.start(TeamInput(fork=ForkInput(run=handle.id, at="only#1")))
        await asked(fork)
        await fork.terminate()


async def test_a_run_goes_on_at_a_worker_that_would_have_refused_it(fleet: Fleet) -> None:
    async with fleet.worker(accept_plans=True):
        handle = await fleet.start(TeamInput(plan=plan_of(DOCUMENT)))
        await asked(handle)
    async with fleet.worker(accept_plans=False):
        await handle.execute_update("decide", SIGNED)
        assert (await handle.result())["end"] == "completed"
    for policy in ({"accept_plans": True}, {"accept_plans": False}, {}):
        await replayed(handle, policy)


@pytest.mark.parametrize("accepted", [True, False])
async def test_a_fork_does_not_launder_a_raw_plan(fleet: Fleet, accepted: bool) -> None:
    async with fleet.worker(accept_plans=accepted):
        handle = await fleet.start(TeamInput(plan=plan_of(DOCUMENT)))
        if accepted:
            await asked(handle)
            await handle.terminate()
        else:
            await refusal(handle)
    async with fleet.worker(accept_plans=False):
        first = await fleet.start(TeamInput(fork=ForkInput(run=handle.id, at="only#1")))
        assert "this worker runs no plans that it did not compile" in await refusal(first)


@pytest.mark.parametrize("accept_plans", [True, False])
async def test_start_sends_the_document_where_plans_are_not_accepted(
    env: WorkflowEnvironment, tmp_path: Path, accept_plans: bool
) -> None:
    (tmp_path / "config").mkdir()
    written = "worker: {accept_plans: true}\n" if accept_plans else ""
    (tmp_path / "coterie.yml").write_text(written)
    (tmp_path / "mine.yml").write_text(HEAD + DOCUMENT)
    address = env.client.service_client.config.target_host
    id = f"raw-{uuid.uuid4()}"
    starting = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "coterie", "start", "mine.yml", "--id", id),
        cwd=tmp_path,
        env={**os.environ, "COTERIE_ADDRESS": address},
    )
    assert await starting.wait() == 0
    handle = env.client.get_workflow_handle(id)
    first = (await handle.fetch_history()).events[0].workflow_execution_started_event_attributes
    (given,) = await data_converter.decode(first.input.payloads, [TeamInput])
    assert (given.plan is not None) is accept_plans
    assert given.document == (None if accept_plans else HEAD + DOCUMENT)
    await handle.terminate()
