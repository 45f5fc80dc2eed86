"""Speak MCP on standard input and output.

Only protocol messages reach standard output: while it serves, the SDK sends everything else that
this process or its children print to standard error.
"""

import os

import anyio
import anyio.to_thread
from mcp.server import Server
from mcp.server.stdio import stdio_server


async def speak_stdio(server: Server) -> None:
    """Serve one client until it hangs up."""
    async with stdio_server(stdin=_claimed_input()) as (read, write):
        await server.run(read, write, server.create_initialization_options())


class _Input(anyio.AsyncFile[str]):
    """Lines of the client; unlike the SDK's reader, a wait for the next one can be cancelled."""

    async def __anext__(self) -> str:
        """Return the next line; the thread that waits for it is left behind on cancellation."""
        line = await anyio.to_thread.run_sync(self.wrapped.readline, abandon_on_cancel=True)
        if not line:
            raise StopAsyncIteration
        return line


def _claimed_input() -> _Input:
    """Take standard input for the protocol: child processes find it empty."""
    wire = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return _Input(open(wire, encoding="utf-8", errors="replace"))
