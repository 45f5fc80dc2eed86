#!/usr/bin/env bash
# A second tool of the same name is dropped with a warning in the log: the first one is listed and called.
# Whoever registers tools from several modules, the later ones to replace earlier ones, gets the old ones.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
cat >"$folder/tools.py" <<'PYTHON'
import asyncio
import logging

from mcp.client import Client
from mcp.server import MCPServer

logging.disable()  # refused calls are logged with a traceback
server = MCPServer("tools")


@server.tool(name="price")
def old_price() -> str:
    return "old"


@server.tool(name="price")
def new_price() -> str:
    return "new"


async def main() -> None:
    async with Client(server) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("price", {})
    print("tools:", names, "answer:", result.content[0].text)
    assert (names, result.content[0].text) == (["price"], "old")


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/tools.py"
