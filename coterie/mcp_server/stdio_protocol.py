"""Speak MCP on standard input and output.

Only protocol messages reach standard output: while it serves, the SDK sends everything else that
this process or its children print to standard error.
"""

import os
from typing import Final

import anyio
import anyio.to_thread
from mcp.server import Server
from mcp.server.stdio import stdio_server

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
