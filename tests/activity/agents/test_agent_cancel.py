"""A cancelled turn ends where it waits, and a long one gives signs of life."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import OpenModelCall, Spent
from coterie.activities.providers.provider import Completion, ModelRequest
from tests.support.agents import answer, environment, request


class WaitingModel:
    """A provider whose answer waits for an event."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.cancelled = False

    async def complete(self, request: ModelRequest) -> Completion:
        self.asked.set()
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return answer()

    async def close(self) -> None:
        """Nothing is held open."""

    def get(self, name: str) -> "WaitingModel":
        return self


async def test_cancelling_the_activity_cancels_the_model_call() -> None:
    model = WaitingModel()
    at = environment()
    turn = asyncio.ensure_future(at.run(AgentActivities(model).run_agent, request()))
    await asyncio.wait_for(model.asked.wait(), 60)
    at.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert model.cancelled


async def test_the_activity_beats_while_the_model_thinks() -> None:
    """The model answers only after a beat: without one, the turn would never end."""
    model = WaitingModel()
    at = environment()

    def beat(*details: object) -> None:
        if model.asked.is_set():
            model.may_answer.set()

    at.info = replace(at.info, heartbeat_timeout=timedelta(milliseconds=30))
    at.on_heartbeat = beat
    turn = at.run(AgentActivities(model).run_agent, request())
    response = await asyncio.wait_for(turn, 60)
    assert response.success


async def test_a_turn_ends_its_model_call_before_its_activity_times_out() -> None:
    model = WaitingModel()
    with pytest.raises(ApplicationError) as caught:
        await environment(timeout=0.2).run(AgentActivities(model).run_agent, request())
    assert (caught.value.type, caught.value.non_retryable) == ("Timeout", False)
    assert "did not end within 0.2 s" in caught.value.message
    assert Spent.model_validate(caught.value.details[0]).open == (OpenModelCall(input_tokens=1),)
    assert model.cancelled
