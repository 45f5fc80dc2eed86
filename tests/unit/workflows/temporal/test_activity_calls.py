"""Calls are activities: with the options of their queue, and skipped, cut or cancelled by name."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, RetryState

from activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    OwnQueue,
    SkillRequest,
    SkillResult,
)
from coterie.storage.wire import data_converter
from dsl.model.plan import Persona
from workflows.core.location import Skipped
from workflows.core.messages import SkipInput
from workflows.core.scope import Call
from workflows.core.state import RunState
from workflows.temporal.activity_calls import Calls
from workflows.temporal.pacer import Pacer
from workflows.temporal.queues import MAX_WAIT

CALL = Call(id="7", summary="a/b", options=CallOptions(timeout=5, retries=0), step="a/b")
SKILL = SkillRequest(skill="A.b", key="k")


class Handle:
    """An activity that has ended in this way, or never ends until it is cancelled."""

    def __init__(self, end: SkillResult | AgentResponse | Exception | None) -> None:
        self.end = end
        self.cancelled = 0
        self.began = asyncio.Event()
        self.stopped = asyncio.Event()

    def cancel(self) -> None:
        self.cancelled += 1
        self.stopped.set()

    def __await__(self) -> Any:
        self.began.set()
        if self.end is None:
            try:
                yield from self.stopped.wait().__await__()
            except asyncio.CancelledError:
                self.cancel()
            raise ended(CancelledError("stopped"))
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


class Engine:
    """Temporal's side of one call: the options that it was started with, and its end."""

    def __init__(self, end: SkillResult | AgentResponse | Exception | None = None) -> None:
        self.handle = Handle(end)
        self.options: dict[str, Any] = {}
        self.fairness_key: str | None = None
        self.state = RunState()
        self.pacer = Pacer()
        self.calls = Calls(self.state, "run", self.pacer)

    def start_activity(self, *_: object, **options: Any) -> Handle:
        self.options = options
        return self.handle

    def info(self) -> SimpleNamespace:
        return SimpleNamespace(
            get_current_history_length=lambda: 1, priority=Priority(fairness_key=self.fairness_key)
        )


def ended(cause: BaseException | None) -> ActivityError:
    """An activity that ended for this reason."""
    error = ActivityError(
        "failed",
        scheduled_event_id=1,
        started_event_id=2,
        identity="w",
        activity_type="a",
        activity_id="7",
        retry_state=RetryState.NON_RETRYABLE_FAILURE,
    )
    error.__cause__ = cause
    return error


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> Any:
    def use(engine: Engine) -> Engine:
        monkeypatch.setattr(workflow, "start_activity", engine.start_activity)
        monkeypatch.setattr(workflow, "payload_converter", lambda: data_converter.payload_converter)
        monkeypatch.setattr(workflow, "info", engine.info)
        return engine

    return use


def turn(provider: str) -> AgentRequest:
    return AgentRequest(team="a", task="b", persona=Persona(provider=provider, model="m"))


QUEUE = OwnQueue(name="of the provider")


async def test_a_call_in_the_queue_of_its_provider_waits_there_for_a_while_and_takes_turns(
    patch: Any,
) -> None:
    engine = patch(Engine(AgentResponse(data="x")))
    engine.state.queues["theirs"] = QUEUE
    await engine.calls.run_agent(turn("theirs"), CALL)
    queue = engine.options
    assert (queue["task_queue"], queue["schedule_to_start_timeout"]) == (QUEUE.name, MAX_WAIT)
    assert queue["priority"] == Priority(fairness_key="run")


async def test_a_call_in_the_queue_of_its_run_waits_there_for_a_worker_for_as_long_as_it_takes(
    patch: Any,
) -> None:
    engine = patch(Engine(AgentResponse(data="x")))
    engine.state.queues["theirs"] = QUEUE
    await engine.calls.run_agent(turn("another"), CALL)
    queue = engine.options
    assert (queue["task_queue"], queue["schedule_to_start_timeout"]) == (None, None)
    assert queue["priority"] == Priority.default


async def test_fairness_key_of_the_start_applies_to_the_calls(patch: Any) -> None:
    engine = patch(Engine(AgentResponse(data="x")))
    engine.state.queues["theirs"] = QUEUE
    engine.fairness_key = "a customer"
    await engine.calls.run_agent(turn("theirs"), CALL)
    assert engine.options["priority"] == Priority.default


async def test_a_call_is_skipped_with_the_value_that_was_given_and_only_once(patch: Any) -> None:
    engine = patch(Engine())
    calling = asyncio.create_task(engine.calls.call_skill(SKILL, CALL))
    async with asyncio.timeout(120):
        await engine.handle.began.wait()
        engine.state.skips["a/b"] = SkipInput(task="b", value="instead")
        engine.calls.cut("a/another")
        assert engine.handle.cancelled == 0
        engine.calls.cut("a/b")
        with pytest.raises(Skipped) as skipped:
            await calling
    assert (skipped.value.value, engine.state.skips) == ("instead", {})


async def test_a_call_that_is_cancelled_as_it_is_skipped_is_cancelled(patch: Any) -> None:
    engine = patch(Engine())
    calling = asyncio.create_task(engine.calls.call_skill(SKILL, CALL))
    async with asyncio.timeout(120):
        await engine.handle.began.wait()
        engine.state.skips["a/b"] = SkipInput(task="b", value="instead")
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
    assert list(engine.state.skips) == ["a/b"]


async def test_a_call_that_was_cancelled_by_nobody_here_ends_as_cancelled(patch: Any) -> None:
    cancelled = CancelledError("by the engine")
    engine = patch(Engine(ended(cancelled)))
    with pytest.raises(CancelledError) as raised:
        await engine.calls.call_skill(SKILL, CALL)
    assert raised.value is cancelled


async def test_a_failure_that_nobody_knows_is_reported_as_it_came(patch: Any) -> None:
    error = ended(None)
    engine = patch(Engine(error))
    with pytest.raises(ActivityError) as raised:
        await engine.calls.call_skill(SKILL, CALL)
    assert raised.value is error


@pytest.mark.parametrize("end", [SkillResult(), ended(ApplicationError("no", type="SkillFailed"))])
async def test_a_call_that_has_ended_is_not_cut_and_is_not_pending(
    end: SkillResult | Exception, patch: Any
) -> None:
    engine = patch(Engine(end))
    await asyncio.gather(engine.calls.call_skill(SKILL, CALL), return_exceptions=True)
    engine.calls.cut("a/b")
    assert (engine.handle.cancelled, engine.pacer.pace.pending) == (0, 0)
