"""An MCP server on standard input and output, with a tool of each kind of effect."""

import asyncio
import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer

sys.path.append(str(Path(__file__).parent))  # the worker lets Python import nothing from there

import effects

server = MCPServer("depot")


@server.tool()
async def stock(id: str, number: int, seconds: float) -> int:
    """Counts what is in stock."""
    effects.append("journal.txt", time.time(), "stock", id)
    await asyncio.sleep(seconds)
    return number + 1000


@server.tool(structured_output=False)
async def label(id: str, seconds: float) -> str:
    """Puts a label on something; again, it is the same."""
    await asyncio.to_thread(effects.act, "label", id, seconds)
    return f"{id} has a label"


@server.tool(structured_output=False)
async def send(id: str, seconds: float) -> str:
    """Sends something, which must not happen twice."""
    await asyncio.to_thread(effects.act, "send", id, seconds)
    return f"receipt of {id}"


if __name__ == "__main__":
    effects.append("depots.txt", os.getpid())
    server.run()
