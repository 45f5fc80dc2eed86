#!/usr/bin/env bash
# A tool of the MCP SDK whose parameter may be a text or nothing (`str | None`) does not get every
# text: the server parses an argument that looks like JSON before it validates it. The text '{"a": 1}'
# or '[1]' is refused as an object or a list, and the text 'null' arrives as None. A parameter of type
# `str` gets them all. Arguments that the tool does not have are dropped without a word: a misspelt
# optional one has no effect, since the offered schema does not forbid it.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
import logging
from importlib.metadata import version

from mcp import Client
from mcp.server.mcpserver import MCPServer

server = MCPServer("notes", log_level="CRITICAL")
logging.disable(logging.CRITICAL)


@server.tool()
def optional(text: str | None = None) -> str:
    return repr(text)


@server.tool()
def plain(text: str) -> str:
    return repr(text)


async def main():
    texts = ['{"a": 1}', "[1]", "null", "12"]
    seen = {}
    async with Client(server) as client:
        offered = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        for name in ("plain", "optional"):
            for text in texts:
                result = await client.call_tool(name, {"text": text})
                seen[name, text] = "refused" if result.is_error else result.content[0].text
        misspelt = await client.call_tool("optional", {"txet": "hello"})
    print("mcp", version("mcp"))
    print(f"schema: {offered['optional']['properties']['text']['anyOf']}")
    for (name, text), got in seen.items():
        print(f"{name:8} gets {text!r:12} as {got}")
    print(f"a misspelt argument: error {misspelt.is_error}, the tool gets {misspelt.content[0].text}")
    assert [seen["plain", text] for text in texts] == [repr(text) for text in texts]
    assert [seen["optional", text] for text in texts] == [
        "refused", "refused", "None", "'12'",
    ], "the behaviour has changed"  # fmt: skip
    assert (misspelt.is_error, misspelt.content[0].text) == (False, "None")


asyncio.run(main())
PYTHON
