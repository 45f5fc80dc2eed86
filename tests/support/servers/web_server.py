"""A web server that sends given bytes for each path, for what reads pages."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class WebServer:
    """What a test sees of the server."""

    port: int = 0
    asked: list[str] = field(default_factory=list[str])
    """The paths that were requested, with their queries."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"


def page(
    body: bytes, kind: str = "text/html; charset=utf-8", status: str = "200 OK", *more: str
) -> bytes:
    """An answer with its headers."""
    lines = (f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *more)
    return "\r\n".join((*lines, "Connection: close", "", "")).encode() + body


def redirect(to: str) -> bytes:
    """A redirect."""
    return page(b"", "text/plain", "302 Found", f"Location: {to}")


@asynccontextmanager
async def web_server(pages: Mapping[str, bytes], drip: bytes = b"") -> AsyncGenerator[WebServer]:
    """Serve pages by path on a free port; 404 for others.

    Args:
        pages: The answers; the key `*` answers every path.
        drip: Send this after each answer, again and again.
    """
    server = WebServer()
    handlers: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            target = head.split(b" ")[1].decode()
            server.asked.append(target)
            path = target.partition("?")[0]
            absent = pages.get("*") or page(b"absent", "text/plain", "404 Not Found")
            writer.write(pages.get(path, absent))
            await writer.drain()
            while drip:
                writer.write(drip)
                await writer.drain()
                await asyncio.sleep(0.01)  # as slowly as a hostile server
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(answer(reader, writer))
        handlers.add(task)
        task.add_done_callback(handlers.discard)

    listening = await asyncio.start_server(begin, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
