"""A bare HTTP server for what no stand-in offers: it records a request and sends given bytes."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from coterie.dsl.values import Json


@dataclass(frozen=True, slots=True)
class Received:
    """One request; header names in lower case."""

    path: str
    headers: dict[str, str]
    body: Json


@dataclass(slots=True)
class RawServer:
    """What a test sees of the server."""

    url: str = ""
    requests: list[Received] = field(default_factory=list[Received])
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """A whole request has come."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """A client has closed its connection."""


@asynccontextmanager
async def raw_server(
    *answers: bytes,
    hang: bool = False,
    drip: bytes = b"",
    once: asyncio.Event | None = None,
    rest: bytes = b"",
    after: asyncio.Event | None = None,
) -> AsyncGenerator[RawServer]:
    """Serve answers in their order, the last one again and again, on a free port of this machine.

    Args:
        answers: All of each, status line and headers too; see `http`.
        once: Answer nothing before this has happened.
        hang: Keep the connection open after it, and send no more.
        drip: Send this after it, again and again.
        rest: Send this after the last answer, once `after` has happened.
    """
    server = RawServer()
    handlers: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server.requests.append(await _receive(reader))
            answer = answers[min(len(server.requests), len(answers)) - 1]
            server.asked.set()
            if once is not None:
                await once.wait()
            writer.write(answer)
            await writer.drain()
            if after is not None and len(server.requests) >= len(answers):
                await after.wait()
                writer.write(rest)
                await writer.drain()
            while drip:
                writer.write(drip)
                await writer.drain()
                await asyncio.sleep(0.01)
            if hang and not await reader.read():
                server.left.set()
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(serve(reader, writer))
        handlers.add(task)

    listening = await asyncio.start_server(accept, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
        await listening.wait_closed()


def http(body: str, *, status: int = 200, kind: str = "application/json", **headers: str) -> bytes:
    """A whole answer; underscores in header names become hyphens."""
    lines = [
        f"HTTP/1.1 {status} Told",
        f"content-type: {kind}",
        f"content-length: {len(body.encode())}",
        "connection: close",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def events(*bodies: Json) -> str:
    """Server-sent events named by their `type`."""
    return "".join(f"event: {body['type']}\ndata: {json.dumps(body)}\n\n" for body in bodies)


async def _receive(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(head[0].split(" ")[1], headers, json.loads(body or b"{}"))
