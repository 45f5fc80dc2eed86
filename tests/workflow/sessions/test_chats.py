"""A chat survives the failure of its agent, and remembers only what its window holds."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.settings import load
from coterie.testing.simulation.case_server import time_skipping_server
from tests.support.engine import engine
from tests.workflow.sessions.test_sessions import opened, refusal, send

Handle = Any

CHAT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    helper: {prompts: {system: You help.}}
orchestration:
  entry_team: talk
  teams:
    talk:
      type: chat
      chat:
        persona_key: helper
        deadline: 8h
        conversation_characters: 20
        until: "{{ tasks.message.data == 'bye' }}"
"""


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[Client]:
    async with time_skipping_server(load()) as client:
        yield client


async def test_a_failed_answer_is_advised_to_the_sender_and_the_chat_continues(
    server: Client, tmp_path: Path
) -> None:
    answers: list[Json] = [
        {
            "task": "answer",
            "contains": "and now",
            "error": {"type": "RateLimited", "message": "Not today"},
        },
        {"task": "answer", "contains": "hello", "answer": "I know you."},
        {"task": "answer", "answer": "Yes."},
    ]
    env = WorkflowEnvironment.from_client(server)
    async with engine(env, tmp_path, answers) as here:
        handle, reply = await opened(here, CHAT, "hello")
        assert reply == "I know you."
        kind, text = await refusal(send(handle, "and now"))
        assert kind == "NoReply"
        assert text.endswith("without a reply to this one: task 'answer' failed with RateLimited")
        assert await send(handle, "third") == "I know you.", "the window holds the first turn"
        assert await send(handle, "fourth") == "Yes.", "the first turn no longer fits"
        assert await send(handle, "bye") == "Yes."
        assert (await handle.result())["visits"] == {"talk": 5}
