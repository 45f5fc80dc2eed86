"""A proxy before a stand-in server: refuses what the vendors refuse in histories with tools.

It also knows conversations: their beginning must return as it was sent, with the same system prompt
and the same tools, because newer models bind their thinking to it and caches need it.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.support.servers.raw_server import http
from tests.support.servers.vendor_rules import conversation_of, fault_of

_NOT_FORWARDED = ("host", "content-length", "connection", "accept-encoding")


@dataclass(slots=True)
class CheckingProxy:
    """What a test sees of the proxy."""

    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Every request, as it was sent."""
    faults: list[str] = field(default_factory=list[str])
    """What was refused."""
    repeated: list[int] = field(default_factory=list[int])
    """For each request, how many messages of an earlier one it began with."""
    _conversations: dict[str, tuple[list[str], str]] = field(
        default_factory=dict[str, tuple[list[str], str]]
    )

    def check(self, path: str, body: dict[str, Any]) -> str | None:
        """Return why the vendor refuses the request, or None."""
        self.bodies.append(body)
        fault = fault_of(path, body) or self._changed(path, body)
        if fault is not None:
            self.faults.append(fault)
        return fault

    def _changed(self, path: str, body: dict[str, Any]) -> str | None:
        messages, frozen = conversation_of(path, body)
        known = self._conversations.get(f"{path} {messages[0]}")
        self._conversations[f"{path} {messages[0]}"] = (messages, frozen)
        if known is None or len(messages) == 1:
            self.repeated.append(0)
            return None
        earlier, was_frozen = known
        self.repeated.append(len(earlier))
        if messages[: len(earlier)] != earlier:
            return "The block is bound to a different conversation: an earlier message changed"
        if frozen != was_frozen:
            return "The block is bound to a different conversation: system or tools changed"
        return None


@asynccontextmanager
async def checking_proxy(upstream: str) -> AsyncGenerator[CheckingProxy]:
    """Serve a proxy before the server at this URL, on a free port of this machine."""
    proxy = CheckingProxy()
    handlers: set[asyncio.Task[None]] = set()
    client = httpx2.AsyncClient(base_url=upstream, trust_env=False, timeout=60)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            path, headers, body = await _received(reader)
            fault = proxy.check(path, json.loads(body))
            if fault is None:
                await _forward(client, path, headers, body, writer)
            else:
                error = {"type": "invalid_request_error", "message": fault}
                writer.write(http(json.dumps({"type": "error", "error": error}), status=400))
            await writer.drain()
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.add(asyncio.ensure_future(serve(reader, writer)))

    listening = await asyncio.start_server(accept, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        listening.close()
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
        await listening.wait_closed()
        await client.aclose()


async def _received(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return head[0].split(" ")[1], headers, body


async def _forward(
    client: httpx2.AsyncClient,
    path: str,
    headers: dict[str, str],
    body: bytes,
    writer: asyncio.StreamWriter,
) -> None:
    kept = {name: value for name, value in headers.items() if name and name not in _NOT_FORWARDED}
    async with client.stream("POST", path, headers=kept, content=body) as answer:
        kind = answer.headers.get("content-type", "application/json")
        head = f"HTTP/1.1 {answer.status_code} Told\r\ncontent-type: {kind}\r\nconnection: close"
        writer.write(f"{head}\r\n\r\n".encode())
        async for piece in answer.aiter_bytes():
            writer.write(piece)
            await writer.drain()
