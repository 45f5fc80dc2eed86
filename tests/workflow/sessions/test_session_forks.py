"""A fork of a session has what was said before its message, and nothing of what came later."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.settings import load
from coterie.testing.simulation.case_server import time_skipping_server
from tests.support.engine import engine, trail
from tests.support.servers.temporal_server import suggesting_after
from tests.workflow.sessions.test_sessions import opened, send

Handle = Any

CHAT = """
orchestration:
  entry_team: talk
  context: {said: {type: array, default: []}, ended: {type: boolean, default: false}}
  teams:
    talk:
      type: chat
      chat:
        deadline: 8h
        reply: "{{ context.said | join(' ') }}"
        until: "{{ tasks.message.data == 'bye' }}"
      tasks:
        - name: keep
          type: set
          context_updates: {said: {append: "{{ tasks.message.data }}"}}
"""


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[Client]:
    async with time_skipping_server(load()) as client:
        yield client


async def forked(here: Any, origin: Handle, message: int, **more: Any) -> Handle:
    return await here.start_raw({"fork": {"run": origin.id, "message": message, **more}})


async def test_a_fork_waits_for_a_message_of_an_open_session_again(
    server: Client, tmp_path: Path
) -> None:
    env = WorkflowEnvironment.from_client(server)
    async with engine(env, tmp_path, []) as here:
        first, _ = await opened(here, CHAT, "a")
        assert [await send(first, text) for text in ("b", "c")] == ["a b", "a b c"]
        again = await forked(here, first, 2, by="ann")
        assert await send(again, "x") == "a x"
        assert await send(first, "d") == "a b c d", "the old session continues by itself"
        assert (await again.query("status"))["messages"] == 2
        because = [entry.because for entry in await trail(again)]
        assert f"forked from {first.id} at talk#2/message by ann" in because
        for handle in (first, again):
            assert (await send(handle, "bye")).endswith("bye")
            await handle.result()


async def test_a_session_that_has_ended_continues_as_a_fork(server: Client, tmp_path: Path) -> None:
    env = WorkflowEnvironment.from_client(server)
    async with engine(env, tmp_path, []) as here:
        first, _ = await opened(here, CHAT, "a")
        await send(first, "b")
        await send(first, "bye")
        result = cast("Json", await first.result())
        assert result["visits"] == {"talk": 3}
        again = await forked(here, first, 3)
        assert await send(again, "c") == "a b c"
        await again.terminate()


async def test_a_message_of_an_earlier_history_can_be_forked(tmp_path: Path) -> None:
    async with suggesting_after(40) as env, engine(env, tmp_path, []) as here:
        first, _ = await opened(here, CHAT, "0")
        for number in range(1, 16):
            await send(first, str(number))
        again = await forked(here, first, 3)
        assert await send(again, "x") == "0 1 x"
        nested = await forked(here, again, 2)
        assert await send(nested, "y") == "0 y"
        for handle in (first, again, nested):
            await handle.terminate()


async def test_a_message_that_never_came_cannot_be_forked(server: Client, tmp_path: Path) -> None:
    env = WorkflowEnvironment.from_client(server)
    async with engine(env, tmp_path, []) as here:
        first, _ = await opened(here, CHAT, "a")
        with pytest.raises(WorkflowFailureError) as refused:
            await (await forked(here, first, 3)).result()
        assert "it has waited for messages 1 to 2" in str(refused.value.cause)
        with pytest.raises(WorkflowFailureError) as both:
            await (await forked(here, first, 1, at="talk#1")).result()
        assert "give `at` or `message`" in str(both.value.cause)
        await first.terminate()
