"""An MCP server over HTTP with sessions, as of 2025, in the process of the test.

A test says with which status it answers calls and listings, and sees what it was asked.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

from coterie.dsl.values import Json

_TOOL: Json = {"name": "act", "inputSchema": {"type": "object"}}


@dataclass(slots=True)
class SessionServer:
    """What a test says and sees."""

    url: str = ""
    refuse: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """`{method: the HTTP statuses of the next requests}`; then it answers."""
    hold: asyncio.Event | None = None
    """A call waits for it before its answer."""
    held: asyncio.Event = field(default_factory=asyncio.Event)
    asked: Counter[str] = field(default_factory=Counter[str])
    """How often it was asked for each method."""
    done: int = 0
    """Calls that it carried out."""

    async def answer(self, asked: Json) -> tuple[int, Json | None]:
        """The HTTP status and the body of an answer."""
        method, id = str(asked["method"]), asked.get("id")
        self.asked[method] += 1
        statuses = self.refuse.get(method)
        if statuses:
            return statuses.pop(0), None
        if id is None:
            return HTTPStatus.ACCEPTED, None
        match method:
            case "initialize":
                result: Json = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "sessions", "version": "1"},
                }
            case "tools/list":
                result = {"tools": [_TOOL]}
            case "tools/call":
                self.done += 1
                if self.hold is not None:
                    self.held.set()
                    await self.hold.wait()
                result = {"content": [{"type": "text", "text": "done"}]}
            case _:
                error: Json = {"code": -32601, "message": "unknown method"}
                return HTTPStatus.OK, {"jsonrpc": "2.0", "id": id, "error": error}
        return HTTPStatus.OK, {"jsonrpc": "2.0", "id": id, "result": result}


@asynccontextmanager
async def session_server() -> AsyncGenerator[SessionServer]:
    """Serve on a free port."""
    server = SessionServer()
    handlers: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            if not head.startswith("post"):
                writer.write(_response(HTTPStatus.METHOD_NOT_ALLOWED, None))
                return
            size = next(
                int(line.partition(":")[2])
                for line in head.splitlines()
                if line.startswith("content-length")
            )
            asked = json.loads(await reader.readexactly(size))
            writer.write(_response(*await server.answer(asked)))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(serve(reader, writer))
        handlers.add(task)
        task.add_done_callback(handlers.discard)

    listening = await asyncio.start_server(begin, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
    try:
        yield server
    finally:
        listening.close()
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)


def _response(status: int, body: Json | None) -> bytes:
    data = b"" if body is None else json.dumps(body).encode()
    lines = (
        f"HTTP/1.1 {status} x",
        "Content-Type: application/json",
        f"Content-Length: {len(data)}",
        "Mcp-Session-Id: one",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode() + data
