#!/usr/bin/env bash
# The first call of a tool by the MCP SDK's client is two requests: behind the result it lists the
# tools of the server, to check the result against the output schema. A client that knows its
# tools from elsewhere pays for the list of a large server with each new connection.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
from importlib.metadata import version

from mcp import Client
from mcp.server.mcpserver import MCPServer

server = MCPServer("numbers", log_level="CRITICAL")


@server.tool()
def double(number: int) -> int:
    return 2 * number


async def main():
    sent = []
    async with Client(server) as client:
        send = client.session.send_request

        async def note(request, *rest, **options):
            sent.append(request.method)
            return await send(request, *rest, **options)

        client.session.send_request = note
        for number in (1, 2):
            await client.call_tool("double", {"number": number})
    print("mcp", version("mcp"), "sends for two calls:", ", ".join(sent))
    assert sent == ["tools/call", "tools/list", "tools/call"], "the behaviour has changed"


asyncio.run(main())
PYTHON
