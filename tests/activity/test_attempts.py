"""An attempt that the server gave away is neither begun nor gone on with."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue, TypeAdapter
from temporalio import activity, workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
    UnsandboxedWorkflowRunner,
    Worker,
)

from coterie.activities.attempts import Attempt, Standing, current
from coterie.activities.batching import MeteredProviders
from coterie.activities.contracts import CALL_FUNCTION, FunctionRequest
from coterie.activities.heartbeats import kept_alive
from coterie.activities.metering import Meter
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction, Workspace
from coterie.dsl.model.capabilities import Effect
from tests.support.agents import RecordingModel, answer
from tests.support.servers.temporal_server import time_skipping

TIMEOUT = 10.0


@dataclass
class World:
    """A clock, and a server that says what the test asks."""

    says: Sequence[Standing] = (Standing.CURRENT,)
    time: float = 100.0
    asked: int = 0
    beats: list[float] = field(default_factory=list[float])

    async def ask(self) -> Standing:
        self.asked += 1
        return self.says[min(self.asked, len(self.says)) - 1]

    def attempt(self, age: float = 0.0, patience: float = 0.0) -> Attempt:
        return Attempt(TIMEOUT, self.ask, age=age, patience=patience, clock=lambda: self.time)


async def test_an_attempt_asks_the_server_only_when_it_was_silent_for_long() -> None:
    world = World()
    attempt = world.attempt()
    world.time += 4.9
    await attempt.check()
    assert world.asked == 0
    world.time += 0.2
    await attempt.check()
    assert world.asked == 1
    world.time += 4.9
    await attempt.check()
    assert world.asked == 1
    attempt.beat()
    world.time += 4.9
    await attempt.check()
    assert world.asked == 1


async def test_nothing_begins_in_an_attempt_whose_time_is_over() -> None:
    world = World()
    attempt = Attempt(TIMEOUT, world.ask, limit=3.0, clock=lambda: world.time)
    await attempt.confirm()
    world.time += 3.0
    for begin in (attempt.check, attempt.confirm):
        with pytest.raises(ApplicationError, match="its time is over") as caught:
            await begin()
        assert caught.value.type == "StaleAttempt"


async def test_an_answer_from_before_a_freeze_does_not_count() -> None:
    world = World([Standing.CURRENT, Standing.STALE])

    async def ask_and_freeze() -> Standing:
        said = await world.ask()
        world.time += 60.0
        return said

    attempt = Attempt(TIMEOUT, ask_and_freeze, clock=lambda: world.time)
    with pytest.raises(ApplicationError, match="gave the call to another attempt"):
        await attempt.confirm()
    assert world.asked == 2


@pytest.mark.parametrize("says", [Standing.STALE, Standing.UNKNOWN])
async def test_an_attempt_that_waited_for_a_frozen_worker_is_not_begun(says: Standing) -> None:
    world = World([says])
    with pytest.raises(ApplicationError) as caught:
        await world.attempt(age=20.0).check()
    assert (caught.value.type, caught.value.non_retryable) == ("StaleAttempt", False)


@pytest.mark.parametrize("after", [Standing.CURRENT, Standing.STALE])
async def test_a_server_that_is_away_for_a_while_decides_when_it_is_back(after: Standing) -> None:
    world = World([Standing.UNKNOWN, after])
    attempt = world.attempt(patience=60.0)
    if after is Standing.CURRENT:
        await attempt.confirm()
    else:
        with pytest.raises(ApplicationError, match="gave the call to another attempt"):
            await attempt.confirm()
    assert world.asked == 2


@pytest.mark.parametrize(
    ("says", "why"),
    [(Standing.STALE, "gave the call to another attempt"), (Standing.UNKNOWN, "does not answer")],
)
async def test_work_does_not_go_on_when_the_worker_was_frozen_past_the_deadline(
    says: Standing, why: str
) -> None:
    world = World([says])
    attempt = world.attempt(patience=600.0)
    begun = asyncio.Event()

    async def work() -> None:
        async with kept_alive(attempt, 0.01, lambda: world.beats.append(world.time)):
            begun.set()
            await asyncio.Event().wait()

    working = asyncio.create_task(work())
    await begun.wait()
    while not world.beats:  # noqa: ASYNC110  # the beats are another task's
        await asyncio.sleep(0.01)
    world.time += 20.0
    with pytest.raises(ApplicationError, match=why):
        await asyncio.wait_for(working, 120)
    assert set(world.beats) == {100.0}
    assert current.get() is None


async def test_work_that_waits_for_a_server_that_is_away_is_left_to_its_own_question() -> None:
    world = World([Standing.UNKNOWN, Standing.UNKNOWN, Standing.CURRENT])
    attempt = world.attempt(age=20.0, patience=600.0)
    async with kept_alive(attempt, 0.01, lambda: world.beats.append(world.time)):
        await attempt.confirm()
        assert not attempt.overdue
    assert world.asked == 3
    assert world.beats


@pytest.mark.parametrize(("age", "asked"), [(5.0, 0), (5.1, 1)])
async def test_work_that_goes_on_asks_only_if_it_was_silent(age: float, asked: int) -> None:
    world = World()
    await world.attempt(age=age).check_going_on()
    assert world.asked == asked


@pytest.mark.parametrize("says", [Standing.STALE, Standing.UNKNOWN])
async def test_work_that_goes_on_stops_when_it_does_not_count(says: Standing) -> None:
    with pytest.raises(ApplicationError):
        await World([says]).attempt(age=20.0, patience=60.0).check_going_on()


async def test_work_that_waits_for_the_server_does_not_ask_it_a_second_time() -> None:
    asked, answered = list[int](), asyncio.Event()

    async def ask() -> Standing:
        asked.append(1)
        await answered.wait()
        return Standing.CURRENT

    attempt = Attempt(TIMEOUT, ask, age=20.0)
    waiting = asyncio.create_task(attempt.confirm())
    await asyncio.sleep(0)
    await attempt.check_going_on()
    assert len(asked) == 1
    answered.set()
    await waiting


async def test_an_attempt_that_sends_heartbeats_does_not_ask_the_server() -> None:
    world, sent = World(), asyncio.Event()
    attempt = world.attempt()

    def beat() -> None:
        world.beats.append(world.time)
        world.time += 4.0
        if len(world.beats) == 4:
            sent.set()

    async with kept_alive(attempt, 0.001, beat):
        await asyncio.wait_for(sent.wait(), 60)
    assert world.asked == 0


async def test_the_attempt_in_progress_is_known_to_its_work_alone() -> None:
    attempt = World().attempt()
    before = asyncio.all_tasks()
    async with kept_alive(attempt, 0.01, lambda: None):
        assert current.get() is attempt
    assert current.get() is None
    assert asyncio.all_tasks() == before, "no heartbeat follows the work"


async def test_a_stop_of_the_work_is_no_stale_attempt() -> None:
    world = World()

    async def work() -> None:
        async with kept_alive(world.attempt(), 0.01, lambda: None):
            await asyncio.Event().wait()

    working = asyncio.create_task(work())
    await asyncio.sleep(0)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(working, 120)


async def test_a_model_is_not_asked_again_in_an_attempt_that_does_not_count() -> None:
    world = World([Standing.STALE])
    model = RecordingModel(answer())
    attempt = world.attempt()
    provider = MeteredProviders(model, Meter()).get("recorded")
    world.time += 20.0
    token = current.set(attempt)
    try:
        with pytest.raises(ApplicationError, match="gave the call to another"):
            await provider.complete(ModelRequest(model="model-1", messages=()))
    finally:
        current.reset(token)
    assert model.requests == []


class Frozen(Interceptor):
    """A worker that was stopped after it received the first attempt, until the second was due."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _FrozenActivity(next, self.client)


class _FrozenActivity(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, client: Client) -> None:
        super().__init__(next)
        self._client = client

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        if info.attempt == 1:
            run = self._client.get_workflow_handle(str(info.workflow_id))
            while True:
                pending = (await run.describe()).raw_description.pending_activities
                if not pending or pending[0].attempt > 1:
                    break
                await asyncio.sleep(0.1)  # between two looks
        return await self.next.execute_activity(input)


@workflow.defn(name="OneCall")
class OneCall:
    """A run of one tool function."""

    @workflow.run
    async def run(self, function: str) -> None:
        await workflow.execute_activity(
            CALL_FUNCTION,
            FunctionRequest(skill=function, key="run/call"),
            start_to_close_timeout=timedelta(seconds=60),
            heartbeat_timeout=timedelta(seconds=3),
            retry_policy=RetryPolicy(maximum_attempts=3, initial_interval=timedelta(seconds=1)),
        )


@dataclass
class Ledger:
    """What a tool function did, by its attempts."""

    done: list[int] = field(default_factory=list[int])

    async def add(self, given: JsonValue, context: FunctionContext) -> JsonValue:
        self.done.append(activity.info().attempt)
        return given

    def function(self, effect: Effect) -> ToolFunction[JsonValue, JsonValue]:
        anything = TypeAdapter[JsonValue](JsonValue)
        return ToolFunction("Ledger.add", "Adds.", effect, anything, anything, self.add)


async def _frozen_run(ledger: Ledger, effect: Effect, folder: Path) -> None:
    """A run whose worker was frozen; raises what the run fails with."""
    functions = FunctionActivities(Workspace(folder), {"Ledger.add": ledger.function(effect)})
    async with (
        time_skipping() as env,
        Worker(
            env.client,
            task_queue="frozen",
            workflows=[OneCall],
            activities=[functions.call_function],
            interceptors=[Frozen(env.client)],
            workflow_runner=UnsandboxedWorkflowRunner(),
            build_id="test",
        ),
    ):
        handle = await env.client.start_workflow(
            OneCall.run, "Ledger.add", id=f"frozen-{uuid.uuid4()}", task_queue="frozen"
        )
        with env.auto_time_skipping_disabled():  # the two clocks agree
            await asyncio.wait_for(handle.result(), 120)


async def test_a_call_is_not_made_again_by_a_worker_that_was_frozen(tmp_path: Path) -> None:
    ledger = Ledger()
    await _frozen_run(ledger, "read", tmp_path)
    assert ledger.done == [2]


async def test_once_function_does_not_start_on_a_worker_that_was_frozen(
    tmp_path: Path,
) -> None:
    ledger = Ledger()
    with pytest.raises(WorkflowFailureError) as failed:
        await _frozen_run(ledger, "once", tmp_path)
    assert isinstance(failed.value.cause, ActivityError)
    assert isinstance(failed.value.cause.cause, ApplicationError)
    assert failed.value.cause.cause.type == "OutcomeUnknown"
    assert ledger.done == []
