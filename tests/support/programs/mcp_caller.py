"""An MCP client as a program: each line on standard input is a call, each line out its result.

Run it with the command of the server. `{"tool": NAME, "arguments": {...}}` calls, `{}` lists.
"""

import asyncio
import json
import os
import sys
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client


async def main(command: str, arguments: list[str]) -> None:
    server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    async with Client(stdio_client(server), read_timeout_seconds=60) as client:
        while line := await asyncio.to_thread(sys.stdin.readline):
            sys.stdout.write(f"{json.dumps(await answer(client, json.loads(line)))}\n")
            sys.stdout.flush()


async def answer(client: Client, asked: dict[str, Any]) -> dict[str, Any]:
    if not asked:
        tools = (await client.list_tools()).tools
        return {tool.name: tool.model_dump(mode="json") for tool in tools}
    result = await client.call_tool(asked["tool"], asked["arguments"])
    text = "".join(part.text for part in result.content if part.type == "text")
    return {"error": text} if result.is_error else dict(result.structured_content or {})


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
