#!/usr/bin/env bash
# Chunks that are appended to an artifact stay parts of it, and the SDK's `get_artifact_text` joins parts
# with a line break: a streamed text gets breaks within words. It needs `delimiter=""`.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'a2a-sdk[http-server]==1.3.0' \
    uvicorn==0.54.0
cat >"$folder/agent.py" <<'PYTHON'
import asyncio
import os
import socket
import sys

import httpx
import uvicorn
from a2a.client import ClientConfig, ClientFactory
from a2a.helpers import proto_helpers as made
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
)
from starlette.applications import Starlette


class Agent(AgentExecutor):
    """Keeps the messages that it has worked on, and answers in pieces."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.messages.append(context.message)
        await event_queue.enqueue_event(made.new_task_from_user_message(context.message))
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        for number, text in enumerate(("under", "stand")):
            part = made.new_text_part(text)
            await task.add_artifact([part], artifact_id="answer", append=number > 0)
        await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        pass


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    card = AgentCard(
        name="Greeter",
        description="Greets.",
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="greet", name="Greet", description="Greets.", tags=["greeting"])],
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
    )
    agent = Agent()
    handler = DefaultRequestHandler(agent, InMemoryTaskStore(), card)
    app = Starlette(routes=create_jsonrpc_routes(handler, "/"))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    client = ClientFactory(ClientConfig(httpx_client=httpx.AsyncClient())).create(card)

    async def send(part: Part) -> list[StreamResponse]:
        """Send a message with the same id each time, as a client that tries again does."""
        message = Message(message_id="m-1", role=Role.ROLE_USER, parts=[part])
        request = SendMessageRequest(message=message)
        return [event async for event in client.send_message(request)]

    events = await send(made.new_text_part("Hello"))
    name = next(event.task.id for event in events if event.HasField("task"))
    (artifact,) = (await client.get_task(GetTaskRequest(id=name))).artifacts
    text = made.get_artifact_text(artifact)
    print("pieces:", [part.text for part in artifact.parts], "text:", repr(text))
    assert text == "under\nstand"
    assert made.get_artifact_text(artifact, delimiter="") == "understand"
    sys.stdout.flush()
    os._exit(0)


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/agent.py"
