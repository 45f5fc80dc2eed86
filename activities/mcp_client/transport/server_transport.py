"""The transport to a configured server: its command, or its address."""

from collections.abc import Callable
from contextlib import AsyncExitStack

import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

from coterie.activities.mcp_client.server_settings import McpServer
from coterie.activities.mcp_client.transport.bounded_http import BoundedTransport
from coterie.activities.mcp_client.transport.bounded_stdio import ServerCommand, bounded_stdio
from coterie.activities.mcp_client.transport.error_output import ErrorOutput
from coterie.activities.mcp_client.transport.message_relay import MessageRelay
from coterie.activities.proxies import trusted


async def server_transport(
    server: McpServer,
    stack: AsyncExitStack,
    errors: ErrorOutput,
    relay: MessageRelay,
    broken: Callable[[str], None],
) -> Transport:
    """Return the transport to a server.

    Args:
        server: As configured.
        stack: Holds what the transport needs.
        errors: Keeps the end of the standard error of a command.
        relay: Passes the messages on, and notes the end of the connection.
        broken: Called with the reason when a command writes more than a line may have.
    """
    section = server.section
    if section.url is None:
        command = ServerCommand(
            section.command, {**server.environment, **server.values}, server.folder
        )
        file = stack.enter_context(errors.taken())
        return relay.relayed(bounded_stdio(command, file, broken))
    http = httpx2.AsyncClient(
        headers=server.headers,
        timeout=httpx2.Timeout(section.start_timeout, read=None),
        transport=BoundedTransport(trusted(environment=False)),
        trust_env=False,
    )
    client = await stack.enter_async_context(http)
    return relay.relayed(streamable_http_client(section.url, http_client=client))
