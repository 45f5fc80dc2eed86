"""How clients reach the MCP server: on standard input and output, or over HTTP at a port."""

import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Final

import anyio
import anyio.to_thread
from mcp.server import Server
from mcp.server.stdio import stdio_server

from coterie.dsl.errors import listed
from coterie.http_server.http_listener import listener
from coterie.mcp_server.http_protocol import PATH, http_token, speak_http, token_file
from coterie.mcp_server.protocol_server import serve_clients
from coterie.mcp_server.run_host import RunHost
from coterie.mcp_server.served_teams import ServedTeam
from coterie.mcp_server.tool_sets import ToolSet
from coterie.settings import Settings
from coterie.terminal import is_interactive, note

MAX_MESSAGE: Final = 4 * 1024 * 1024
"""Characters of one message; the SDK takes as many bytes over HTTP."""


async def speak_stdio(server: Server) -> None:
    """Serve one client until it hangs up."""
    async with stdio_server(stdin=_claimed_input()) as (read, write):
        await server.run(read, write, server.create_initialization_options())


class ClientInput(anyio.AsyncFile[str]):
    """Lines of the client, each of which is a message.

    Unlike with the SDK's reader, a wait for the next one can be cancelled, and none is endless.
    """

    async def readline(self) -> str:
        """Return the next line; the thread that waits for it is left behind on cancellation."""
        return await anyio.to_thread.run_sync(self._line, abandon_on_cancel=True)

    def _line(self) -> str:
        """Read a line; of a longer one only the beginning, which no session understands."""
        line = part = self.wrapped.readline(MAX_MESSAGE)
        while part and not part.endswith("\n"):
            part = self.wrapped.readline(MAX_MESSAGE)
        return line


def _claimed_input() -> ClientInput:
    """Take standard input for the protocol: child processes find it empty."""
    wire = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return ClientInput(open(wire, encoding="utf-8", errors="replace"))


def serving(
    settings: Settings,
    teams: Mapping[str, ServedTeam],
    wait: float,
    port: int | None,
    token_env: str | None,
    local_tools: Callable[[RunHost], Sequence[ToolSet]],
) -> Coroutine[None, None, None]:
    """Say where clients find the teams, and return the work of serving them.

    Args:
        settings: The project.
        teams: The teams, by the names of their tools.
        wait: How long a call waits for its run, in seconds.
        port: Of HTTP, 0 for a free one; None for standard input and output.
        token_env: The environment variable with the token of HTTP; None for the project's own.
        local_tools: Returns the tools beside those of the teams.
    """
    offered = listed(teams) or "no team yet"
    if port is None:
        if is_interactive():
            note(f"an MCP client starts this command; it offers {offered}; Ctrl-C stops it")
        return serve_clients(settings, teams, wait, speak_stdio, local_tools)
    token = http_token(settings, token_env)
    at = listener(port)
    where = token_env or token_file(settings)
    note(f"offers {offered} at http://127.0.0.1:{at.getsockname()[1]}{PATH}")
    note("`coterie serve` replaces `serve --mcp --port`: it serves MCP at /mcp, beside its API")
    note(f"clients send the token in {where} as `Authorization: Bearer TOKEN`")
    speak = partial(speak_http, at=at, token=token)
    return serve_clients(settings, teams, wait, speak, local_tools)
