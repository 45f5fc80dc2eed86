#!/usr/bin/env bash
# A tool of the MCP SDK that returns a list gives one content block for each entry: an empty list gives
# none at all, exactly like None, and a list of one text looks like that text. Only `structured_content`
# tells them apart; a client that shows the content to a model shows it nothing.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
from importlib.metadata import version

from mcp import Client
from mcp.server.mcpserver import MCPServer

server = MCPServer("names", log_level="CRITICAL")


@server.tool()
def names(count: int) -> list[str]:
    return ["ann", "ben"][:count]


@server.tool()
def name() -> str:
    return "ann"


@server.tool()
def nothing() -> None:
    return None


async def main():
    seen = {}
    async with Client(server) as client:
        for tool, given in (
            ("names", {"count": 2}),
            ("names", {"count": 1}),
            ("names", {"count": 0}),
            ("name", {}),
            ("nothing", {}),
        ):
            result = await client.call_tool(tool, given)
            texts = [block.text for block in result.content]
            seen[tool, *given.values()] = (texts, result.structured_content)
    print("mcp", version("mcp"))
    for call, (texts, structured) in seen.items():
        print(f"{call!s:14} content {texts!s:16} structured {structured}")
    assert seen["names", 0] == ([], {"result": []}), "the behaviour has changed"
    assert seen["nothing",] == ([], {"result": None}), "the behaviour has changed"
    assert seen["names", 1][0] == seen["name",][0] == ["ann"], "the behaviour has changed"


asyncio.run(main())
PYTHON
