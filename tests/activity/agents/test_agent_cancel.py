"""A cancelled turn ends where it waits, and a long one gives signs of life."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from temporalio.testing import ActivityEnvironment

from activities.agent_activity import AgentActivities
from activities.providers.provider import Completion, ModelRequest
from tests.support.agents import answer, request


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
    environment = ActivityEnvironment()
    turn = asyncio.ensure_future(environment.run(AgentActivities(model).run_agent, request()))
    await asyncio.wait_for(model.asked.wait(), 60)
    environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert model.cancelled


async def test_the_activity_beats_while_the_model_thinks() -> None:
    """The model answers only after a beat: without one, the turn would never end."""
    model = WaitingModel()
    environment = ActivityEnvironment()

    def beat(*details: object) -> None:
        if model.asked.is_set():
            model.may_answer.set()

    environment.info = replace(environment.info, heartbeat_timeout=timedelta(milliseconds=30))
    environment.on_heartbeat = beat
    turn = environment.run(AgentActivities(model).run_agent, request())
    response = await asyncio.wait_for(turn, 60)
    assert response.success
