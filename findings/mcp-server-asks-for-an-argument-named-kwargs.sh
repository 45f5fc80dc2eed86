#!/usr/bin/env bash
# `**options` of a function becomes one required argument `options`, and `*numbers: int` a required integer
# that no call can give: as an integer it is refused later, as a list at once.
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
def find(text: str, **options: str) -> str:
    return repr(options)


@server.tool()
def add(*numbers: int) -> int:
    return sum(numbers)


async def main() -> None:
    async with Client(server) as client:
        schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        free = await client.call_tool("find", {"text": "pens", "color": "blue"})
        named = await client.call_tool("find", {"text": "pens", "options": "blue"})
        sums = [await client.call_tool("add", {"numbers": value}) for value in (1, [1, 2])]
    for name, schema in schemas.items():
        print(name, schema["properties"], "required:", schema["required"])
    print("find with color:", "refused" if free.is_error else free.content[0].text)
    print("find with options:", named.content[0].text)
    print("add with 1, and with [1, 2]:", ["refused" if end.is_error else "taken" for end in sums])
    assert schemas["find"]["required"] == ["text", "options"] and free.is_error
    assert named.content[0].text == "{'options': 'blue'}"
    assert schemas["add"]["properties"]["numbers"]["type"] == "integer"
    assert all(end.is_error for end in sums)


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/tools.py"
