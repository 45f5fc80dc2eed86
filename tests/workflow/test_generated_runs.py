"""Random plans end on the real engine too, and go the way that they go in one process."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from temporalio import activity
from temporalio.client import WorkflowFailureError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from coterie.activities.contracts import (
    CALL_FUNCTION,
    RUN_AGENT,
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.views import TrailEntry
from coterie.workflows.team import TeamWorkflow
from tests.support.documents.generated import CONTEXT, documents, written
from tests.support.engine import DEFECTS, plan_of, trail
from tests.support.simulation.skipping import World, skipped_run
from tests.support.watching.prepared_sandbox import prepared_sandbox

MANY = max(8, settings().max_examples // 10)
AT_ONCE = ("parallel", "concurrency", "next_team:\n", "losers")
"""What makes the order of things a matter of speed."""
SAMPLES = 4
"""A sample has a dozen such plans, more or less: its documents depend on the loaded modules."""
Went = list[tuple[str, str, int, str | None, str | None, str | None]]


@cache
def plans() -> list[Plan]:
    """Plans that wait for nobody and do one thing after the other."""
    found: list[Plan] = []

    @settings(
        max_examples=8 * MANY,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(documents(attended=False))
    def collect(document: Json) -> None:
        text = written(document)
        if not any(word in text for word in AT_ONCE):
            try:
                found.append(plan_of(text))
            except InvalidDocument:
                return

    for sample in range(SAMPLES):
        seed(sample)(collect)()
        if len(found) >= MANY:
            break
    rich = sorted(found, key=lambda plan: len(plan.model_dump_json()), reverse=True)
    return rich[:MANY]


@activity.defn(name=RUN_AGENT)
async def run_agent(request: AgentRequest) -> AgentResponse:
    return await World(late=False).run_agent(request)


@activity.defn(name=CALL_FUNCTION)
async def call_function(request: FunctionRequest) -> FunctionResult:
    return await World(late=False).call_function(
        request.model_copy(update={"key": f"local/{request.key.partition('/')[2]}"})
    )


@asynccontextmanager
async def worker(env: WorkflowEnvironment) -> AsyncGenerator[str]:
    queue = f"generated-{uuid.uuid4()}"
    async with Worker(
        env.client,
        task_queue=queue,
        workflows=[TeamWorkflow],
        activities=[run_agent, call_function],
        workflow_runner=prepared_sandbox(),
        workflow_failure_exception_types=DEFECTS,
        build_id="test",
    ):
        yield queue


def went(entries: Sequence[TrailEntry]) -> Went:
    """What was done in which order, without when."""
    return [(e.kind, e.team, e.visit, e.step, e.status, e.next_team) for e in entries]


def in_one_process(plan: Plan) -> tuple[bool, Went]:
    run = skipped_run(plan, CONTEXT, World(late=False), attended=False)
    return run.result.end == "completed", went([record.to_entry() for record in run.state.trail])


async def on_the_engine(env: WorkflowEnvironment, queue: str, plan: Plan) -> tuple[bool, Went]:
    handle = await env.client.start_workflow(
        "TeamWorkflow",
        TeamInput(plan=plan, context=CONTEXT),
        id=f"made-{uuid.uuid4()}",
        task_queue=queue,
    )
    try:
        await handle.result()
    except WorkflowFailureError:
        return False, went(await trail(handle))
    return True, went(await trail(handle))


def test_there_are_plans_enough() -> None:
    assert len(plans()) == MANY


@pytest.mark.parametrize("number", range(MANY))
async def test_a_random_plan_ends_on_the_engine_as_in_one_process(
    env: WorkflowEnvironment, number: int
) -> None:
    plan = plans()[number]
    async with worker(env) as queue:
        there = await on_the_engine(env, queue, plan)
    assert there == await asyncio.to_thread(in_one_process, plan)
