#!/usr/bin/env bash
# A parameter without an annotation is a string in the schema that models see, and takes any JSON value
# when it is called.
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


@server.tool()
def double(value):
    return value * 2


async def main() -> None:
    async with Client(server) as client:
        (tool,) = (await client.list_tools()).tools
        result = await client.call_tool("double", {"value": 21})
    print("schema:", tool.input_schema["properties"], "double of 21:", result.content[0].text)
    assert tool.input_schema["properties"]["value"]["type"] == "string"
    assert result.content[0].text == "42"


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/tools.py"
