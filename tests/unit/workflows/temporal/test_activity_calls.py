"""Calls are activities: with the options of their queue, and skipped, cut or cancelled by name."""

import asyncio
from typing import Any

import pytest
from temporalio.common import Priority
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    CancelledError,
)

from coterie.activities.contracts import (
    AgentResponse,
    FunctionResult,
)
from coterie.workflows.core.location import Skipped
from coterie.workflows.core.messages import SkipInput
from coterie.workflows.temporal.call_failures import MAX_WAIT
from tests.support.simulation.engine_calls import (
    CALL,
    QUEUE,
    TOOL_FUNCTION,
    Engine,
    ended,
    patching,
    turn,
)


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> Any:
    return patching(monkeypatch)


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
    calling = asyncio.create_task(engine.calls.call_function(TOOL_FUNCTION, CALL))
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
    calling = asyncio.create_task(engine.calls.call_function(TOOL_FUNCTION, CALL))
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
        await engine.calls.call_function(TOOL_FUNCTION, CALL)
    assert raised.value is cancelled


async def test_a_failure_that_nobody_knows_is_reported_as_it_came(patch: Any) -> None:
    error = ended(None)
    engine = patch(Engine(error))
    with pytest.raises(ActivityError) as raised:
        await engine.calls.call_function(TOOL_FUNCTION, CALL)
    assert raised.value is error


@pytest.mark.parametrize(
    "end", [FunctionResult(), ended(ApplicationError("no", type="FunctionFailed"))]
)
async def test_a_call_that_has_ended_is_not_cut_and_is_not_pending(
    end: FunctionResult | Exception, patch: Any
) -> None:
    engine = patch(Engine(end))
    await asyncio.gather(engine.calls.call_function(TOOL_FUNCTION, CALL), return_exceptions=True)
    engine.calls.cut("a/b")
    assert (engine.handle.cancelled, engine.pacer.pace.pending) == (0, 0)
