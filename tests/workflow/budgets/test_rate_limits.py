"""A provider's rate limit holds over all workers, and runs take turns; on the real server.

What the server does is read from its own timestamps, in wide bounds.
"""

import asyncio
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from temporalio.api.enums.v1 import EventType, TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client, WorkflowHistory
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import OwnQueue
from coterie.activities.providers.provider import ProviderSettings
from coterie.activities.providers.provider_registry import Providers
from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.dsl.model.sections.provider_document import RateLimitPolicy
from coterie.dsl.values import Json
from coterie.replay.replay import replay
from coterie.settings import Settings, load
from coterie.storage.wire import data_converter
from coterie.worker.plan_policy import PlanPolicy
from coterie.worker.provider_queues import ProviderQueue, hold, provider_queues
from coterie.worker.workers import ServingTerms, working
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.team import TeamWorkflow
from coterie.workflows.temporal import activity_calls
from tests.support.engine import DEFECTS, plan_of
from tests.support.servers.temporal_server import dev_server
from tests.support.watching.prepared_sandbox import prepared_sandbox

RATE = 20
TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: { prompts: { user: "Number {{ number }}." } }
    many:
      execution_plan:
        - name: each
          type: loop
          iterate_on: "{{ range(context.calls) }}"
          loop_variable: number
          concurrency: 100
          body: [{ name: ask, agent_type: generic_single_shot, persona_key: writer }]
orchestration:
  entry_team: only
  teams: { only: { tasks: [{ name: all, agent_type: generic_orchestrating, persona_key: many }] } }
"""


@pytest.fixture(scope="module")
async def here() -> AsyncGenerator[WorkflowEnvironment]:
    """The real server, as `coterie server` starts it."""
    async with dev_server("matching.enableFairness=true") as env:
        yield env


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A project whose scripted provider has a limit, with one team."""
    (tmp_path / "config" / "teams").mkdir(parents=True)
    (tmp_path / "config" / "teams" / "crowd.yml").write_text(f"name: crowd\n{TEAM}")
    (tmp_path / "answers.yml").write_text(
        yaml.safe_dump({"answers": [{"task": "ask", "answer": "noted"}]})
    )
    policy = {"requests_per_second": RATE}
    provider = {"answers": "answers.yml", "rate_limit_policy": policy}
    (tmp_path / "coterie.yml").write_text(
        yaml.safe_dump({"llm_config": {"providers": {"scripted": provider}}})
    )
    return load(environ={}, cwd=tmp_path)


@asynccontextmanager
async def workers(
    env: WorkflowEnvironment, settings: Settings, queue: str, number: int
) -> AsyncGenerator[None]:
    """So many workers, each with a connection of its own, as processes have."""
    trusted = trusted_catalog(settings, Catalog(settings), None)
    address = env.client.service_client.config.target_host
    client = await Client.connect(address, data_converter=data_converter)
    terms = ServingTerms(queue, timedelta(seconds=5))
    async with working(client, settings, trusted, terms, PlanPolicy(accept_plans=True)):
        if number > 1:
            async with workers(env, settings, queue, number - 1):
                yield
        else:
            yield


async def begun(env: WorkflowEnvironment, queue: str, calls: int, **given: object) -> Any:
    """A run of so many calls at once."""
    start: Json = {"context": {"calls": calls}}
    return await env.client.start_workflow(
        "TeamWorkflow",
        {**start, **(given or {"team": "crowd"})},
        id=f"crowd-{uuid.uuid4()}",
        task_queue=queue,
    )


def starts(history: WorkflowHistory) -> list[float]:
    """When the server gave each call of a run to a worker, in seconds."""
    kind = EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED
    return [
        event.event_time.ToMicroseconds() / 1e6
        for event in history.events
        if event.event_type == kind
    ]


def scheduled(history: WorkflowHistory) -> list[tuple[str, str, str]]:
    """`(id, queue, fairness key)` of each call."""
    found = [event.activity_task_scheduled_event_attributes for event in history.events]
    return [
        (one.activity_id, one.task_queue.name, one.priority.fairness_key)
        for one in found
        if one.activity_id
    ]


async def test_two_workers_together_keep_the_rate_and_runs_take_turns(
    here: WorkflowEnvironment, settings: Settings
) -> None:
    queue = f"q-{uuid.uuid4()}"
    async with workers(here, settings, queue, 2):
        large = await begun(here, queue, 90)
        while True:
            if len(scheduled(await large.fetch_history())) == 90:
                break
            await asyncio.sleep(0.02)  # between two looks
        small = await begun(here, queue, 4)
        await asyncio.gather(large.result(), small.result())
    first, second = starts(await large.fetch_history()), starts(await small.fetch_history())
    every = sorted(first + second)
    most = max(sum(begin <= one < begin + 1 for one in every) for begin in every)
    assert RATE / 2 <= most <= 2.5 * RATE, "a burst of a second's worth, and then the rate"
    after = sum(one > max(second) for one in first)
    assert after >= 10, "without turns the small run waits for nearly all calls of the large one"


async def test_a_run_is_reported_the_queue_at_its_first_call_and_keeps_to_it(
    here: WorkflowEnvironment, settings: Settings
) -> None:
    """A plan of its own cannot get past the limit, whoever made it."""
    queue = f"q-{uuid.uuid4()}"
    one_by_one = plan_of(TEAM.replace("concurrency: 100", "concurrency: 1"))
    async with workers(here, settings, queue, 1):
        run = await begun(
            here,
            queue,
            2,
            **TeamInput(plan=one_by_one).model_dump(
                mode="json", exclude_defaults=True, by_alias=True
            ),
        )
        await run.result()
    history = await run.fetch_history()
    own = f"{queue}.provider.scripted"
    assert scheduled(history) == [
        ("0001.only.ask", queue, ""),
        ("0001.only.ask.q1", own, run.id),
        ("0002.only.ask", own, run.id),
    ]
    failed = [
        event.activity_task_failed_event_attributes.failure
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED
    ]
    assert [one.message for one in failed] == [
        f"scripted has a rate limit: calls must go through its queue {own}"
    ]
    assert (await replay(WorkflowHistory(run.id, history.events))).differences == ()


async def test_a_team_that_the_worker_compiles_knows_the_queue_from_the_beginning(
    here: WorkflowEnvironment, settings: Settings
) -> None:
    queue = f"q-{uuid.uuid4()}"
    async with workers(here, settings, queue, 1):
        run = await begun(here, queue, 1)
        await run.result()
    own = f"{queue}.provider.scripted"
    assert scheduled(await run.fetch_history()) == [("0001.only.ask", own, run.id)]


async def test_the_server_is_reported_the_limit_and_reported_when_it_is_gone(
    here: WorkflowEnvironment,
) -> None:
    async def config(per_second: float) -> Any:
        """What the server tells once it tells this limit: its partitions hear of it one by one."""
        request = DescribeTaskQueueRequest(
            namespace="default",
            task_queue=TaskQueue(name="limited"),
            report_config=True,
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        )
        async with asyncio.timeout(120):
            while True:
                shown = (await here.client.workflow_service.describe_task_queue(request)).config
                if shown.queue_rate_limit.rate_limit.requests_per_second == per_second:
                    return shown
                await asyncio.sleep(0.05)  # between two looks

    both = RateLimitPolicy(requests_per_minute=300, requests_per_minute_per_key=60)
    for _ in range(2):  # each worker says it
        assert await hold(here.client, ProviderQueue("limited", both)) is None
    shown = await config(5)
    assert shown.fairness_keys_rate_limit_default.rate_limit.requests_per_second == 1
    assert (
        await hold(here.client, ProviderQueue("limited", RateLimitPolicy(requests_per_second=2)))
        is None
    )
    shown = await config(2)
    assert not shown.fairness_keys_rate_limit_default.HasField("rate_limit")


async def test_a_server_that_knows_no_such_settings_is_reported_in_a_sentence(
    env: WorkflowEnvironment,
) -> None:
    queue = ProviderQueue("limited", RateLimitPolicy(requests_per_second=2))
    assert "UpdateTaskQueueConfig is unimplemented" in str(await hold(env.client, queue))


async def test_a_call_comes_back_when_nobody_serves_its_queue_any_more(
    here: WorkflowEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit that was lifted leaves no run waiting for ever."""
    monkeypatch.setattr(activity_calls, "MAX_WAIT", timedelta(seconds=1))
    (tmp_path / "answers.yml").write_text("answers: [{task: ask, answer: noted}]")
    given = ProviderSettings(
        name="scripted", kind="scripted", answers=str(tmp_path / "answers.yml")
    )
    providers = Providers({"scripted": given})
    queue = f"q-{uuid.uuid4()}"

    def worker(agents: AgentActivities) -> Worker:
        return Worker(
            here.client,
            task_queue=queue,
            workflows=[TeamWorkflow],
            activities=[agents.run_agent],
            workflow_runner=prepared_sandbox(),
            workflow_failure_exception_types=DEFECTS,
            build_id="test",
        )

    limited = AgentActivities(providers, queues={"scripted": OwnQueue(name="served-by-none")})
    async with worker(limited):
        run = await here.client.start_workflow(
            "TeamWorkflow",
            TeamInput(plan=plan_of(TEAM), context={"calls": 1}),
            id=f"lifted-{uuid.uuid4()}",
            task_queue=queue,
        )
        while True:
            if len(scheduled(await run.fetch_history())) == 2:
                break
            await asyncio.sleep(0.05)  # between two looks
    async with worker(AgentActivities(providers)):
        result = cast("Json", await run.result())
    assert result["end"] == "completed"
    ids = [(id, where) for id, where, _ in scheduled(await run.fetch_history())]
    assert ids == [
        ("0001.only.ask", queue),
        ("0001.only.ask.q1", "served-by-none"),
        ("0001.only.ask.q2", queue),
    ]


def test_documents_that_reach_a_provider_in_their_own_way_share_its_limit(
    settings: Settings,
) -> None:
    trusted = trusted_catalog(settings, Catalog(settings), None)
    section = trusted.providers["scripted"]
    slower = RateLimitPolicy(requests_per_second=1)
    scoped = {
        "scripted@a": section.model_copy(update={"default_model": "another"}),
        "scripted@b": section.model_copy(update={"rate_limit_policy": slower}),
    }
    queues = provider_queues(trusted.model_copy(update={"scoped": scoped}), "coterie")
    assert {name: queue.name for name, queue in queues.items()} == {
        "scripted": "coterie.provider.scripted",
        "scripted@a": "coterie.provider.scripted",
        "scripted@b": "coterie.provider.scripted@b",
    }
