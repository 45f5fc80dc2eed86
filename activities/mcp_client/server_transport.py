"""The transport to a configured server: its command, or its address."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from activities.mcp_client.bounded_http import BoundedTransport
from activities.mcp_client.bounded_stdio import ServerCommand, bounded_stdio
from activities.mcp_client.error_output import ErrorOutput
from activities.mcp_client.server_settings import McpServer


async def server_transport(
    server: McpServer,
    stack: AsyncExitStack,
    errors: ErrorOutput,
    over: asyncio.Event,
    broken: Callable[[str], None],
) -> Transport:
    """Return the transport to a server.

    Args:
        server: As configured.
        stack: Holds what the transport needs.
        errors: Keeps the end of the standard error of a command.
        over: Set when the server has ended or hung up: the SDK does not report it.
        broken: Called with the reason when a command writes more than a line may have.
    """
    section = server.section
    if section.url is None:
        command = ServerCommand(
            section.command, {**server.environment, **server.values}, server.folder
        )
        file = stack.enter_context(errors.taken())
        return _watch_transport(bounded_stdio(command, file, broken), over)
    http = httpx2.AsyncClient(
        headers=server.headers,
        timeout=httpx2.Timeout(section.start_timeout, read=None),
        transport=BoundedTransport(),
        trust_env=False,
    )
    client = await stack.enter_async_context(http)
    return _watch_transport(streamable_http_client(section.url, http_client=client), over)


@asynccontextmanager
async def _watch_transport(
    transport: Transport, over: asyncio.Event
) -> AsyncGenerator[tuple[Any, Any]]:
    """Relay the messages of a transport, and note its end."""
    async with transport as (read, write), anyio.create_task_group() as group:
        send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def relay() -> None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for message in read:
                    await send.send(message)
            send.close()
            over.set()

        with send, receive:
            group.start_soon(relay)
            try:
                yield receive, write
            finally:
                group.cancel_scope.cancel()
