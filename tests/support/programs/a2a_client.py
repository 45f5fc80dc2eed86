"""The client of the A2A SDK, as another agent uses it."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.helpers.proto_helpers import new_data_part, new_text_part
from a2a.types import (
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
)
from google.protobuf.json_format import MessageToDict
from pydantic import JsonValue

BINDINGS = ("JSONRPC", "HTTP+JSON")
ASKED = TaskState.TASK_STATE_INPUT_REQUIRED
DONE = TaskState.TASK_STATE_COMPLETED


@asynccontextmanager
async def a2a_client(
    url: str,
    team: str,
    token: str,
    binding: str = "JSONRPC",
    *,
    streams: bool = True,
    card: str = "",
) -> AsyncGenerator[Client]:
    """A client of a team, which has read its card, perhaps with another token."""
    async with httpx.AsyncClient(trust_env=False, timeout=90) as http:
        http.headers["Authorization"] = f"Bearer {card or token}"
        found = await A2ACardResolver(http, f"{url}/a2a/{team}").get_agent_card()
        http.headers["Authorization"] = f"Bearer {token}"
        config = ClientConfig(
            httpx_client=http, supported_protocol_bindings=[binding], streaming=streams
        )
        yield ClientFactory(config).create(found)


def sent(
    *parts: Part | str | dict[str, JsonValue],
    task: str = "",
    context: str = "",
    id: str = "",
    waits: bool = True,
    seen: Task | None = None,
) -> SendMessageRequest:
    """A message with texts and data: for a new task, on a task, or in answer to a seen one."""

    def part(given: Part | str | dict[str, JsonValue]) -> Part:
        if isinstance(given, Part):
            return given
        return new_text_part(given) if isinstance(given, str) else new_data_part(given)

    message = Message(
        message_id=id or uuid4().hex,
        role=Role.ROLE_USER,
        parts=[part(one) for one in parts],
        task_id=task if seen is None else seen.id,
        context_id=context,
    )
    if seen is not None:
        message.metadata.update({"in_reply_to": seen.status.message.message_id})
    configuration = SendMessageConfiguration(return_immediately=not waits)
    return SendMessageRequest(message=message, configuration=configuration)


def exact_part(given: JsonValue) -> Part:
    """A value as JSON in a text, which keeps its numbers."""
    return Part(text=json.dumps(given), media_type="application/json")


async def events(client: Client, request: SendMessageRequest) -> list[StreamResponse]:
    """All that a client hears about a message."""
    return [event async for event in client.send_message(request)]


async def task_of(client: Client, id: str) -> Task:
    return await client.get_task(GetTaskRequest(id=id))


def values(task: Task) -> dict[str, Any]:
    """The artifacts of a task by their names."""
    return {artifact.name: value(artifact.parts[0]) for artifact in task.artifacts}


def value(part: Part) -> Any:
    if part.WhichOneof("content") == "text":
        return part.text
    return MessageToDict(part.data)
