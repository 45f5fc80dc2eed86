"""An HTTP server that speaks OpenAI's batch protocol: files, batches, and answers when told."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.support.servers.raw_server import http


@dataclass(slots=True)
class BatchServer:
    """What a test sees of the server, and tells it."""

    url: str = ""
    lines: dict[str, Any] = field(default_factory=dict[str, Any])
    """`{file id: the one line of the file}`."""
    batches: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Newest first, as the server lists them."""
    asked: list[str] = field(default_factory=list[str])
    """Method and last part of the path of each request that it has done."""
    held: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])
    """`{such a request: when it gets its answer}`."""

    def end(self, status: str, response: object = None, error: object = None) -> None:
        """End the newest batch; its line is an answer or an error."""
        batch = self.batches[0]
        batch["status"] = status
        asked = self.lines[batch["input_file_id"]]
        self.lines["answers"] = {
            "custom_id": asked["custom_id"],
            "response": response,
            "error": error,
        }
        if response is not None or error is not None:
            batch["output_file_id" if error is None else "error_file_id"] = "answers"

    def answer(self, method: str, path: str, body: bytes) -> object:
        """Answer one request."""
        match method, path.partition("?")[0].strip("/").split("/")[1:]:
            case "POST", ["files"]:
                line = next(part for part in body.splitlines() if part.startswith(b"{"))
                self.lines[f"file-{len(self.lines)}"] = json.loads(line)
                return {"id": f"file-{len(self.lines) - 1}", "object": "file"}
            case "GET", ["files", file, "content"]:
                return self.lines[file]
            case "POST", ["batches"]:
                number = len(self.batches) + 1
                made = {**json.loads(body), "id": f"batch_{number}", "object": "batch"}
                self.batches.insert(0, {**made, "status": "validating", "created_at": 2**31})
                return self.batches[0]
            case "GET", ["batches"]:
                return {"object": "list", "data": self.batches, "has_more": False}
            case "GET", ["batches", id]:
                return next(one for one in self.batches if one["id"] == id)
            case "POST", ["batches", id, "cancel"]:
                found = next(one for one in self.batches if one["id"] == id)
                found["status"] = "cancelling"
                return found
            case _:
                raise AssertionError(f"unexpected: {method} {path}")


@asynccontextmanager
async def batch_server() -> AsyncGenerator[BatchServer]:
    """Serve on a free port of this machine."""
    server = BatchServer()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        fields = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])
        }
        body = await reader.readexactly(int(fields.get("content-length", "0")))
        method, path, _ = head.split(" ", 2)
        answer = http(json.dumps(server.answer(method, path, body), ensure_ascii=False))
        asked = f"{method} {path.partition('?')[0].rpartition('/')[2]}"
        server.asked.append(asked)
        if asked in server.held:
            await server.held[asked].wait()
        with suppress(ConnectionError):  # who asked may be dead
            writer.write(answer)
            await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    async with listening:
        yield server
