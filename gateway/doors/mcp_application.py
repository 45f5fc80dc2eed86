"""MCP over streamable HTTP, for clients that the gateway has verified. Imports the SDK."""

import asyncio
from collections.abc import Callable, Mapping

from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from coterie.mcp_server.http_protocol import PATH, SessionPlaces
from coterie.mcp_server.protocol_server import serve_clients
from coterie.mcp_server.served_teams import ServedTeam
from coterie.settings import Settings

_MAX_SESSIONS = 100
_WAIT_SECONDS = 45.0
"""Many clients give up after 60 s."""


async def serve_mcp(
    settings: Settings, teams: Mapping[str, ServedTeam], ready: Callable[[ASGIApp], None]
) -> None:
    """Serve the runs that clients start, until it is cancelled.

    Args:
        settings: The project.
        teams: The teams, by the names of their tools.
        ready: Called with the application that answers clients.

    Raises:
        CommandError: There is no Temporal server.
    """

    async def speak(server: Server) -> None:
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            max_sessions=_MAX_SESSIONS,
            # the gateway itself checks who asks, by a header that no page of others can send
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        async with app.router.lifespan_context(app):
            ready(SessionPlaces(app, _MAX_SESSIONS))
            await asyncio.Event().wait()

    await serve_clients(settings, teams, _WAIT_SECONDS, speak)
