"""A message that comes while the session works reaches the agent at work, or waits for its turn."""

import asyncio
import uuid
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowUpdateStage
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.replay.replay import replay
from coterie.runs.histories.exchanges import all_exchanges
from tests.support.engine import Engine, engine
from tests.support.runs import asked, decide, scheduled
from tests.workflow.sessions.test_sessions import refusal, send

CHAT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    clerk: {prompts: {system: You help.}, tools: [add]}
tools:
  add:
    skill: Calculator.evaluate
    description: Adds.
    requires_approval: {approvers: [ann], deadline: 3d}
orchestration:
  entry_team: talk
  max_messages: 4
  teams:
    talk:
      type: chat
      chat: {persona_key: clerk, while_busy: steer, until: "{{ tasks.message.data == 'bye' }}"}
"""
CALL: Json = {"tool": "add", "arguments": {"expression": "1 + 1"}}
ANSWERS: list[Json] = [
    {"task": "answer", "visit": 2, "contains": "bye", "answer": "See you."},
    {"task": "answer", "visit": 2, "contains": "Hurry up.", "answer": "Hurried."},
    {"task": "answer", "visit": 3, "contains": "In red.", "answer": "Red."},
    {"task": "answer", "turn": 1, "tool_calls": [CALL]},
    {"task": "answer", "turn": 2, "contains": "In blue.", "answer": "Painted it blue."},
    {"task": "answer", "turn": 2, "answer": "Painted it."},
]


async def begin(handle: Any, message: str, **more: str) -> "asyncio.Task[Any]":
    """Send a message, and return what waits for its reply once the run has it."""
    sent = await handle.start_update(
        "send_message",
        {"message": message, "by": "ann", **more},
        id=str(uuid.uuid4()),
        wait_for_stage=WorkflowUpdateStage.ACCEPTED,
    )
    return asyncio.create_task(sent.result())


async def painting(here: Engine) -> tuple[Any, Any]:
    """A session whose agent has asked for a call, and the message that it works on."""
    handle: Any = await here.start(CHAT)
    first = await begin(handle, "paint")
    await asked(handle)
    return handle, first


async def allow(handle: Any) -> None:
    await decide(handle, (await asked(handle))["id"])


async def test_a_message_for_the_agent_at_work_gets_the_same_reply(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, ANSWERS) as here:
        handle, first = await painting(here)
        second = await begin(handle, "In blue.")
        assert (await handle.query("status"))["messages"] == 2
        await allow(handle)
        replies = [await first, await second]
        assert replies == ["Painted it blue."] * 2
        assert await send(handle, "bye") == "See you."
        result = await handle.result()
        assert result["visits"] == {"talk": 2}, "one visit for two messages"
        told = [one["input"].get("said") for one in await scheduled(handle)]
        assert told == [None, None, ["In blue."], None]
        found = await all_exchanges(here.client, handle.id)
        assert [one.message for one in found] == ["paint", "In blue.", "bye"]
        assert not (await replay(await handle.fetch_history())).differences


async def test_a_message_waits_where_it_says_so_and_behind_one_that_waits(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, ANSWERS) as here:
        handle, first = await painting(here)
        queued = await begin(handle, "Hurry up.", while_busy="queue")
        behind = await begin(handle, "In red.")
        await allow(handle)
        assert [await first, await queued, await behind] == ["Painted it.", "Hurried.", "Red."]
        told = [one["input"].get("said") for one in await scheduled(handle)]
        assert told == [None] * 5


async def test_a_message_that_the_agent_has_not_read_comes_next(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers: list[Json] = [
        {"task": "answer", "visit": 3, "turn": 2, "contains": "bye", "answer": "See you."},
        {"task": "answer", "visit": 2, "turn": 2, "contains": "In blue.", "answer": "It is blue."},
        {"task": "answer", "turn": 1, "tool_calls": [CALL]},
        {
            "task": "answer",
            "turn": 2,
            "contains": "In blue.",
            "error": {"type": "ProviderRefused", "message": "no"},
        },
    ]
    async with engine(env, tmp_path, answers) as here:
        handle, first = await painting(here)
        second = await begin(handle, "In blue.")
        await allow(handle)
        kind, text = await refusal(first)
        assert kind == "NoReply"
        assert "task 'answer' failed with ProviderRefused" in text
        assert await second == "It is blue."
        assert await send(handle, "bye") == "See you."
