"""A proxy before a stand-in server: refuses what the vendors refuse in histories with tools.

It also knows conversations: their beginning must return byte for byte as it was sent, with the same
system prompt and the same tools, because newer models bind their thinking to it and caches need it.
What a model answered must return with its thinking and its calls. The proxy reports the repeated
beginning as cached, as a vendor does.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.support.servers.prefix_cache import PrefixCache, Sent, counted
from tests.support.servers.raw_server import http
from tests.support.servers.vendor_rules import bound_texts, fault_of

_NOT_FORWARDED = ("host", "content-length", "connection", "accept-encoding")


@dataclass(slots=True)
class _Known:
    """The latest request of a conversation."""

    sent: Sent
    answered: tuple[str, ...]
    """What of the answer to it must return."""


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
    cache: PrefixCache = field(default_factory=PrefixCache)
    _conversations: dict[str, _Known] = field(default_factory=dict[str, _Known])

    def check(self, path: str, body: str) -> str | None:
        """Return why the vendor refuses the request, or None."""
        read = json.loads(body)
        self.bodies.append(read)
        fault = fault_of(path, read) or self._changed(path, Sent.of(body))
        if fault is not None:
            self.faults.append(fault)
        return fault

    def keep(self, path: str, body: str, answer: bytes) -> None:
        """Remember what the model answered: its thinking and its calls must return."""
        sent = Sent.of(body)
        self._conversations[_name(path, sent)] = _Known(sent, bound_texts(answer))

    def _changed(self, path: str, sent: Sent) -> str | None:
        known = self._conversations.get(_name(path, sent))
        if known is None or len(sent.messages) == len(_first(sent)):
            self.repeated.append(0)
            return None
        self.repeated.append(len(known.sent.messages))
        if known.sent.frozen != sent.frozen:
            return f"{_BOUND}: system or tools changed"
        if not known.sent.begins(sent):
            return f"{_BOUND}: an earlier message changed"
        news = "".join(sent.messages[len(known.sent.messages) :])
        lost = [text for text in known.answered if text not in news]
        if lost:
            return f"{_BOUND}: of the last answer, these are missing: {', '.join(lost)}"
        return None


_BOUND = "The block is bound to a different conversation"


def _name(path: str, sent: Sent) -> str:
    return f"{path} {list(map(json.loads, _first(sent)))}"  # the same in any notation


def _first(sent: Sent) -> tuple[str, ...]:
    """The first prompt, with the system prompt if that is a message."""
    return sent.messages[: 2 if json.loads(sent.messages[0]).get("role") == "system" else 1]


@asynccontextmanager
async def checking_proxy(upstream: str) -> AsyncGenerator[CheckingProxy]:
    """Serve a proxy before the server at this URL, on a free port of this machine."""
    proxy = CheckingProxy()
    handlers: set[asyncio.Task[None]] = set()
    client = httpx2.AsyncClient(base_url=upstream, trust_env=False, timeout=60)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            path, headers, body = await _received(reader)
            fault = proxy.check(path, body.decode())
            if fault is None:
                status, kind, answer = await _forwarded(client, path, headers, body)
                if status == 200:
                    tokens = proxy.cache.take(path, body.decode())
                    answer = counted(answer, tokens, marked=b'"cache_control"' in body)
                    proxy.keep(path, body.decode(), answer)
                writer.write(http(answer.decode(), status=status, kind=kind))
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


async def _forwarded(
    client: httpx2.AsyncClient, path: str, headers: dict[str, str], body: bytes
) -> tuple[int, str, bytes]:
    kept = {name: value for name, value in headers.items() if name and name not in _NOT_FORWARDED}
    answer = await client.post(path, headers=kept, content=body)
    kind = answer.headers.get("content-type", "application/json")
    return answer.status_code, kind, answer.content
