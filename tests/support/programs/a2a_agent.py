"""A remote agent on the SDK's own server, as others write it: it asks once, then it answers."""

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from a2a.helpers.proto_helpers import (
    new_data_part,
    new_message,
    new_task_from_user_message,
    new_text_part,
)
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette


@dataclass
class RemoteAgentServer(AgentExecutor):
    """What it got, and how it answers."""

    url: str = ""
    messages: list[Message] = field(default_factory=list[Message])
    cancelled: int = 0
    may_ask: threading.Event = field(default_factory=threading.Event)
    """Set when it has thought enough."""
    number: float = 7
    """In its result."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        message = context.message
        assert message is not None
        self.messages.append(message)
        text = message.parts[0].text
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(message))
        task = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await task.start_work()
        match text:
            case "ask":
                await task.requires_input(new_message([new_text_part("Which colour?")]))
            case "think":
                await asyncio.to_thread(self.may_ask.wait, 120)
                await task.requires_input(new_message([new_text_part("Which colour?")]))
            case "fail":
                await task.failed(new_message([new_text_part("no paint")]))
            case "hang":
                await asyncio.Event().wait()
            case _:
                given = [MessageToDict(part.data) for part in message.parts[1:]]
                await task.add_artifact([new_text_part("und")], artifact_id="a")
                await task.add_artifact([new_text_part("erstood")], artifact_id="a", append=True)
                answer = {"said": text, "given": given, "number": self.number}
                await task.add_artifact([new_data_part(answer)], artifact_id="b")
                await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.cancelled += 1
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


@contextmanager
def remote_agent() -> Generator[RemoteAgentServer]:
    """The agent, at `/` for JSON-RPC and at `/rest` for HTTP+JSON."""
    listener = socket.create_server(("127.0.0.1", 0))
    agent = RemoteAgentServer(url=f"http://127.0.0.1:{listener.getsockname()[1]}")
    card = AgentCard(
        name="Painter",
        description="Paints.",
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="paint", name="Paint", description="Paints.", tags=["paint"])],
        supported_interfaces=[
            AgentInterface(url=agent.url, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
    )
    handler = DefaultRequestHandler(agent, InMemoryTaskStore(), card)
    routes = [
        *create_jsonrpc_routes(handler, "/"),
        *create_rest_routes(handler, path_prefix="/rest"),
    ]
    config = uvicorn.Config(Starlette(routes=routes), log_level="critical", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield agent
    finally:
        server.should_exit = server.force_exit = True
        thread.join(20)
