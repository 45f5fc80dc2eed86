"""A session takes messages in order, answers each once, and loses none in a new history."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import JsonValue
from temporalio.client import (
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.runs.run_client import Run
from coterie.runs.sessions import (
    MessageProgress,
    MessageRefusedError,
    MessageReply,
    open_session,
    reply_within,
)
from coterie.storage.histories import WORKFLOW
from coterie.workflows.core.messages import SessionInput, TeamInput
from tests.support.engine import Engine, engine, plan_of
from tests.support.servers.temporal_server import suggesting_after

Handle = Any  # its updates take any payload

HELLO = SessionInput(message="hello")
ECHO = """
orchestration:
  entry_team: listen
  max_total_teams: 2
  max_recursion_depth: 1
  max_messages: 1000
  teams:
    listen:
      tasks:
        - {name: next, type: wait, message: true, schema: {type: string, maxLength: 100}}
      routing:
        rules:
          - {condition: "{{ tasks.next.data == 'bye' }}", next_team: end}
          - condition: all_success
            next_team: answer
            context_updates: {question: "{{ tasks.next.data }}"}
    answer:
      tasks: [{name: say, type: reply, value: "{{ context.question }}!"}]
      routing: {default: listen}
    end:
      tasks: [{name: say, type: reply, value: "see you"}]
"""


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[WorkflowEnvironment]:
    async with suggesting_after(60) as made:
        yield made


async def opened(
    running: Engine, text: str, first: JsonValue, id: str = ""
) -> tuple[Handle, JsonValue]:
    """Start a session with its first message, in one call."""
    id = id or f"test-{uuid.uuid4()}"
    reply = await open_session(
        running.client,
        id,
        TeamInput(plan=plan_of(text)),
        SessionInput(message=first),
        str(uuid.uuid4()),
        task_queue=running.queue,
        summary="test",
    )
    return running.client.get_workflow_handle(id), reply


async def send(handle: Handle, message: object, id: str | None = None) -> Any:
    """Send a message, again and again while the run continues as new."""
    id = id or str(uuid.uuid4())
    while True:
        try:
            return await handle.execute_update("send_message", {"message": message}, id=id)
        except WorkflowUpdateFailedError as error:
            if not isinstance(error.cause, ApplicationError) or error.cause.type != "NotYet":
                raise
        await asyncio.sleep(0.02)  # until the next history has begun


async def refusal(sending: Awaitable[object]) -> tuple[str | None, str]:
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await sending
    cause = cast("ApplicationError", refused.value.cause)
    return cause.type, cause.message


async def test_the_first_message_comes_with_the_start_and_limits_count_from_each(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(server, tmp_path, [], cached_runs=0) as running:
        handle, reply = await opened(running, ECHO, "hello")
        assert reply == "hello!"
        assert [await send(handle, text) for text in ("a", "b")] == ["a!", "b!"]
        assert await send(handle, "bye") == "see you"
        result = cast("Json", await handle.result())
        assert result["visits"] == {"listen": 4, "answer": 3, "end": 1}


async def test_a_session_goes_on_over_many_histories_and_loses_no_message(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(server, tmp_path, []) as running:
        handle, _ = await opened(running, ECHO, "hello")
        first = (await handle.describe()).run_id
        texts = [f"message {number}" for number in range(60)]
        waiting = asyncio.Semaphore(4)

        async def sent(text: str) -> Any:
            async with waiting:
                return await send(handle, text, id=text)

        replies = await asyncio.gather(*map(sent, texts))
        assert replies == [f"{text}!" for text in texts]
        received = (await handle.query("status"))["messages"]
        assert await send(handle, texts[20], id=texts[20]) == replies[20], "of an earlier history"
        assert (await handle.query("status"))["messages"] == received
        await send(handle, "bye")
        await handle.result()
        described, histories = await handle.describe(), 1
        previous = running.client.get_workflow_handle(handle.id, run_id=first)
        while (await previous.describe()).status == WorkflowExecutionStatus.CONTINUED_AS_NEW:
            events = (await previous.fetch_history()).events
            following = events[
                -1
            ].workflow_execution_continued_as_new_event_attributes.new_execution_run_id
            previous = running.client.get_workflow_handle(handle.id, run_id=following)
            histories += 1
        assert described.run_id != first
        assert histories > 3


async def test_a_wait_for_a_reply_ends_in_time_and_the_message_may_come_again(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    given = TeamInput(plan=plan_of(ECHO))
    async with engine(server, tmp_path, []) as running:
        unserved = await running.client.start_workflow(WORKFLOW, given, id="s1", task_queue="none")
        unanswered = await reply_within(Run(running.client, "s1"), HELLO, "m1", 0.2)
        assert unanswered == MessageProgress(False)
        await unserved.terminate()
        handle, _ = await opened(running, ECHO, "hi")
        run = Run(running.client, handle.id)
        for _ in range(2):
            progress = await reply_within(run, HELLO, "m1", 30)
            assert progress == MessageProgress(True, MessageReply("hello!"))
        assert (await run.status()).messages == 2
        await send(handle, "bye")


async def test_a_message_is_taken_or_refused_before_its_reply_is_awaited(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(server, tmp_path, []) as running:
        handle = await running.start(HELD)
        run = Run(running.client, handle.id)
        for _ in range(2):  # sent again with its id, it is the same message
            progress = await reply_within(run, HELLO, "m1", 0, taking=30)
            assert progress == MessageProgress(True)
        assert (await run.status()).messages == 1
        huge = SessionInput(message="x" * 100_001)
        with pytest.raises(MessageRefusedError) as refused:
            await reply_within(run, huge, "m2", 0, taking=30)
        assert refused.value.code == "TooLarge"
        await handle.terminate()


async def test_what_a_session_cannot_take_is_refused_by_name(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(server, tmp_path, []) as running:
        handle, _ = await opened(running, ECHO, "hello")
        assert await refusal(send(handle, 7)) == (
            "BadMessage",
            "the message is a number, not a text",
        )
        kind, shown = await refusal(send(handle, "x" * 100_001))
        assert (kind, shown) == (
            "TooLarge",
            "the message has 100,003 bytes, and 100,000 are allowed",
        )
        kind, _ = await refusal(handle.execute_update("send_message", {"text": "x"}))
        assert kind == "Malformed"
        plain = await running.start("""
orchestration:
  entry_team: work
  teams: {work: {tasks: [{name: sign, type: approval, prompt: "Well?"}]}}
""")
        kind, shown = await refusal(send(plain, "a"))
        assert (kind, shown) == ("NoSession", "no step of this run waits for messages")


async def test_a_refused_first_message_leaves_no_open_session(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(server, tmp_path, []) as running:
        with pytest.raises(MessageRefusedError) as refused:
            await opened(running, ECHO, 7, "refused")
        assert refused.value.code == "BadMessage"
        handle: Handle = running.client.get_workflow_handle("refused")
        with pytest.raises(WorkflowFailureError) as failed:
            await handle.result()
        assert "its first message was refused" in str(failed.value.cause)


HELD = """
orchestration:
  entry_team: listen
  max_messages: 6
  teams:
    listen:
      tasks:
        - {name: next, type: wait, message: true}
        - {name: hold, type: wait, signal: go}
        - {name: say, type: reply, value: "{{ tasks.next.data }}", when: "{{ tasks.hold.data }}"}
      routing: {rules: [{condition: all_success, next_team: listen}], default: null}
"""


async def arrived(handle: Handle, messages: int) -> None:
    for _ in range(1000):
        if (await handle.query("status")).get("messages", 0) == messages:
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError("the messages did not arrive")


async def test_messages_queue_up_to_five_and_a_passed_one_fails_by_name(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(server, tmp_path, []) as running:
        handle: Handle = await running.start(HELD)
        sending = list[asyncio.Task[Any]]()
        for number in range(5):
            sending.append(asyncio.create_task(send(handle, number)))
            await arrived(handle, number + 1)
        kind, shown = await refusal(send(handle, 6))
        assert (kind, "5 messages wait" in shown) == ("QueueFull", True)
        await handle.signal("go", True)
        assert await sending[0] == 0
        sending.append(asyncio.create_task(send(handle, 5)))
        await arrived(handle, 6)
        kind, shown = await refusal(send(handle, 6))
        assert (kind, "`max_messages`" in shown) == ("SessionFull", True)
        await handle.signal("go", False)
        kind, _ = await refusal(sending[1])
        assert kind == "NoReply"
        await handle.cancel()
        for task in sending[2:]:
            kind, shown = await refusal(task)
            assert kind == "RunHasEnded"
            assert shown.startswith("the run has ended without a reply")
