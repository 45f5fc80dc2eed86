"""A worker that accepts no plans: what a start tries besides, on the real server."""

import asyncio
import uuid
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from temporalio.client import ActivityFailureError
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from coterie.activities.contracts import COMPILE_TEAM
from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.documents.worker_trust import TrustedConfig
from coterie.runs.records import RecordedRuns, kept, new_record
from coterie.settings import load
from coterie.worker.plan_policy import PlanPolicy
from coterie.workflows.core.messages import ForkInput, TeamInput
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers.start_checks import begin
from tests.support.engine import plan_of
from tests.support.runs import asked
from tests.support.servers.temporal_server import dev_server
from tests.workflow.test_raw_plans import DOCUMENT, Fleet, refusal, replayed

SECOND = timedelta(seconds=1)
OTHER = DOCUMENT.replace("Go on?", "Really?")


class Own(NamedTuple):
    """A run that this project started, and the policy of its worker."""

    id: str
    policy: PlanPolicy


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server() -> AsyncGenerator[WorkflowEnvironment]:
    async with dev_server() as env:
        yield env


@pytest.mark.parametrize(
    "again",
    [
        {"retry_policy": RetryPolicy(initial_interval=SECOND, maximum_attempts=3)},
        {"cron_schedule": "@every 1s"},
    ],
    ids=["a retry", "a schedule"],
)
async def test_a_start_does_not_pass_for_a_run_that_continues_when_the_server_repeats_it(
    server: WorkflowEnvironment, tmp_path: Path, again: dict[str, Any]
) -> None:
    fleet, plan, state = Fleet(server, tmp_path), plan_of(DOCUMENT), RunState()
    begin(plan, state)
    async with fleet.worker(accept_plans=False):
        first = await server.client.start_workflow(
            "TeamWorkflow",
            TeamInput(plan=plan, carried=state.carried()),
            id=f"again-{uuid.uuid4()}",
            task_queue=fleet.queue,
            **again,
        )
        second: Any = server.client.get_workflow_handle(first.id)
        part = await part_after(second, first.first_execution_run_id)
        ended: Any = server.client.get_workflow_handle(first.id, run_id=part)
        message = await refusal_of(ended)
        assert "cannot tell whether this run continues or was started so" in message
        if "cron_schedule" in again:
            await second.terminate()
    for policy in ({"accept_plans": True}, {"accept_plans": False}, {}):
        await replayed(ended, policy)


async def part_after(run: Any, first: str | None) -> str:
    """The id of the execution that the server starts after the first one."""
    async with asyncio.timeout(60):
        while True:
            described = await run.describe()
            if described.run_id != first:
                return described.run_id
            await asyncio.sleep(0.05)  # between two looks


async def refusal_of(run: Any) -> str:
    """The refusal of one execution, whatever the server starts after it."""
    async for event in run.fetch_history_events(wait_new_event=True):
        attributes = event.workflow_execution_failed_event_attributes
        if attributes.failure.message:
            assert attributes.failure.application_failure_info.type == "RunRefused"
            return attributes.failure.message
    raise AssertionError("the run was not refused")


async def test_no_worker_makes_a_call_that_no_run_has_made(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    fleet = Fleet(server, tmp_path)
    async with fleet.worker(accept_plans=True):
        call: Any = await server.client.start_activity(
            COMPILE_TEAM,
            {"team": "research"},
            id=f"call-{uuid.uuid4()}",
            task_queue=fleet.queue,
            start_to_close_timeout=60 * SECOND,
        )
        with pytest.raises(ActivityFailureError) as failed:
            await call.result()
    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == "RunRefused"
    assert failed.value.cause.message == "this worker makes calls for runs only; start a run"


@pytest.fixture
def own(tmp_path: Path) -> Own:
    settings = load({}, tmp_path)
    (tmp_path / "coterie.yml").touch()
    trusted = trusted_catalog(settings, Catalog(settings), None)
    record = new_record(settings, None, plan_of(DOCUMENT), trusted, {})
    with kept(settings, record):
        return Own(record.id, PlanPolicy(accept_plans=False, own_runs=RecordedRuns(settings)))


async def test_a_worker_of_a_project_accepts_the_plans_of_its_own_runs_alone(
    server: WorkflowEnvironment, tmp_path: Path, own: Own
) -> None:
    fleet = Fleet(server, tmp_path)
    async with fleet.worker(accept_plans=False, policy=own.policy):
        stranger = await fleet.start(TeamInput(plan=plan_of(DOCUMENT)))
        assert "`worker.accept_plans`" in await refusal(stranger)
        run = await fleet.start(TeamInput(plan=plan_of(DOCUMENT)), id=own.id)
        await asked(run)
        await run.terminate()
        again = await fleet.start(TeamInput(plan=plan_of(OTHER)), id=own.id)
        assert "`worker.accept_plans`" in await refusal(again), "the id is that of an own run"


async def test_a_worker_of_a_project_forks_its_own_runs_and_no_plans_of_strangers(
    server: WorkflowEnvironment, tmp_path: Path, own: Own
) -> None:
    fleet = Fleet(server, tmp_path)
    async with fleet.worker(accept_plans=True):
        run = await fleet.start(TeamInput(plan=plan_of(DOCUMENT)), id=own.id)
        stranger = await fleet.start(TeamInput(plan=plan_of(OTHER)))
        for one in (run, stranger):
            await asked(one)
            await one.terminate()
    async with fleet.worker(accept_plans=False, policy=own.policy):
        fork = await fleet.start(TeamInput(fork=ForkInput(run=run.id, at="only#1")))
        await asked(fork)
        again = await fleet.start(TeamInput(fork=ForkInput(run=fork.id, at="only#1")))
        await asked(again)
        await fork.terminate()
        await again.terminate()
        laundered = await fleet.start(TeamInput(fork=ForkInput(run=stranger.id, at="only#1")))
        assert "`worker.accept_plans`" in await refusal(laundered)


def test_no_id_names_a_file_elsewhere(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    plan = plan_of(DOCUMENT)
    record = new_record(settings, "own", plan, TrustedConfig(workspace=str(tmp_path)), {})
    with kept(settings, record):
        runs = RecordedRuns(settings)
    (tmp_path / ".coterie" / "runs" / "own.json").rename(tmp_path / ".coterie" / "elsewhere.json")
    for id in ("../elsewhere", "..%2felsewhere", "x" * 5000, "", "a\0b", "\ud800"):
        assert not runs.bring(id, plan)
