"""Streams of runs on real servers: continue-as-new, a reset, and the text of turns."""

import asyncio
import uuid
from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionDescription
from temporalio.testing import WorkflowEnvironment

from coterie.activities.providers.provider import ProviderSettings
from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.event_stream import EventStream, StreamRequest
from coterie.gateway.streams.history_pages import HistoryPages
from coterie.gateway.streams.stream_hub import StreamHub
from coterie.runs.histories.history_events import read_events
from coterie.runs.histories.recorded_events import TaskEvent
from coterie.runs.run_client import Run
from coterie.runs.sessions import open_session, send_message
from coterie.workflows.core.messages import SessionInput, TeamInput
from tests.support.engine import engine, plan_of
from tests.support.event_reading import Message, Texts, expected_cursors, parsed
from tests.support.servers.raw_server import raw_server
from tests.support.servers.temporal_server import suggesting_after
from tests.workflow.inspection.test_live_text_seen import HEAD, TEAM, piece

CHAT = """
orchestration:
  entry_team: talk
  context: {topic: {type: string, default: all}}
  teams:
    talk:
      type: chat
      chat:
        reply: "{{ tasks.think.data.text }}"
        until: "{{ tasks.message.data == 'bye' }}"
      tasks:
        - {name: think, persona_key: writer}
"""


async def until(hub: StreamHub, request: StreamRequest, state: str) -> list[Message]:
    """Read the events of a stream up to the end of a run in a state."""
    found: list[Message] = []
    messages = EventStream(hub, request).messages()
    async with asyncio.timeout(60), AsyncExitStack() as stack:
        stack.push_async_callback(messages.aclose)
        async for message in parsed(messages):
            if message.event == "history":
                found.append(message)
                if message.data.get("state") == state:
                    break
    return found


async def reset(client: Client, run: str) -> WorkflowExecutionDescription:
    """Reset a run to its first workflow task; return what it was before."""
    described = await Run(client, run).describe()
    request = ResetWorkflowExecutionRequest(
        namespace=client.namespace,
        workflow_execution=WorkflowExecution(workflow_id=run, run_id=described.run_id),
        reason="a test",
        workflow_task_finish_event_id=4,
        request_id=str(uuid.uuid4()),
    )
    await client.workflow_service.reset_workflow_execution(request)
    return described


async def test_a_stream_follows_continue_as_new_and_a_reset(tmp_path: Path) -> None:
    """However a client came to its events, and wherever it was cut off, they are the same."""
    answers = [{"task": "think", "answer": "yes"}]
    async with suggesting_after(30) as env, engine(env, tmp_path, answers) as here:
        client, run = env.client, Run(env.client, "chat")
        given = TeamInput(plan=plan_of(CHAT))
        hub = StreamHub(HistoryPages(lambda: client))
        first = SessionInput(message="0")
        await open_session(client, "chat", given, first, "0", task_queue=here.queue, summary="")
        live = asyncio.create_task(until(hub, StreamRequest(("chat",), whole=True), "completed"))
        for number in range(1, 10):
            await send_message(run, SessionInput(message=str(number)), str(number))
        while len((await run.history()).events) < 6:  # noqa: ASYNC110  # a worker adds them
            await asyncio.sleep(0.1)
        before = await reset(client, "chat")
        await send_message(run, SessionInput(message="again"), "again")
        await send_message(run, SessionInput(message="bye"), "bye")
        seen = [message.id for message in await live]
        expected = await expected_cursors(client, "chat")
        assert seen == expected
        kinds = [message.data["type"] for message in live.result()]
        assert kinds.count("reset") == 1
        assert kinds.count("continued") >= 2
        assert Cursor.parse(seen[-1]).run != before.run_id
        for place in range(0, len(expected) - 1, 11):
            after = {0: Cursor.parse(expected[place])}
            rest = await until(hub, StreamRequest(("chat",), after), "completed")
            assert [message.id for message in rest] == expected[place + 1 :]
        await hub.close()
        positions = [Cursor.parse(one) for one in seen]
        for run_id in {position.run for position in positions}:
            own = [position.event for position in positions if position.run == run_id]
            assert own == (await event_ids(client, run_id))[-len(own) :]
            is_cut = run_id == positions[kinds.index("reset")].run
            assert is_cut or len(own) == len(await event_ids(client, run_id))


async def event_ids(client: Client, run_id: str) -> list[int]:
    """The events of a history that a stream says, by the client of Temporal's SDK."""
    handle = client.get_workflow_handle("chat", run_id=run_id)
    history = await handle.fetch_history()
    return [one.id for one in read_events(history.events) if not isinstance(one, TaskEvent)]


async def test_a_text_is_replaced_when_its_attempt_broke_off(
    skipping_client: Client, tmp_path: Path
) -> None:
    import_module("coterie.activities.providers.openai")  # which takes longer than some heartbeats
    env = WorkflowEnvironment.from_client(skipping_client)
    seen = asyncio.Event()
    broken, again = HEAD + piece("The first"), HEAD + piece("The second")
    rest = piece(" try", "stop") + b"data: [DONE]\n\n"
    async with raw_server(broken, again, rest=rest, after=seen) as server:
        provider = ProviderSettings("scripted", "openai", api_base=server.url, api_key="k")
        async with engine(env, tmp_path, [], provider=provider) as running, asyncio.timeout(120):
            handle = await running.start(TEAM.replace("STREAM", "true"))
            hub = StreamHub(HistoryPages(lambda: running.client))
            texts = Texts()
            late = Texts()
            messages = EventStream(hub, StreamRequest((handle.id,), whole=True)).messages()
            async for message in parsed(messages):
                texts.take(message)
                if "The second" in texts.of_call.values() and not seen.is_set():
                    await read_text(hub, handle.id, late)
                    seen.set()
                if message.data.get("type") == "closed":
                    break
            await messages.aclose()
            await hub.close()
    call = next(iter(texts.of_call))
    assert late.of_call == {call: "The second"}, "who comes later sees the text so far"
    assert texts.of_call == {call: "The second try"}
    assert texts.answers == texts.of_call


async def read_text(hub: StreamHub, run: str, texts: Texts) -> None:
    """Read a stream from now on until there is a text."""
    messages = EventStream(hub, StreamRequest((run,))).messages()
    async for message in parsed(messages):
        texts.take(message)
        if texts.of_call:
            break
    await messages.aclose()
