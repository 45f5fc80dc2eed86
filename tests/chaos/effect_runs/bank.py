"""A bank that counts payments by their keys, and holds calls until the death of their caller.

It speaks HTTP/1.0: `pay` counts once per key, `paid` tells whether an order was counted, `pass` is
where a tool or a worker asks whether it may go on.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qs, urlsplit

Point = Literal[
    "delivered",
    "before",
    "arrived",
    "late",
    "counted",
    "answered",
    "returned",
    "verifying",
    "recorded",
]
"""Where a call is interrupted: its task has reached the worker; the tool has begun; the bank has
the payment, and forgets it, or counts it when the caller is dead; it has counted it and not
answered; it has answered; the tool has returned; the check of a payment that was interrupted has
begun; everything is recorded."""
IN_TOOLS: tuple[Point, ...] = ("before", "arrived", "late", "counted", "answered", "recorded")
IN_WORKER: tuple[Point, ...] = ("delivered", "returned")
POINTS = (*IN_TOOLS, *IN_WORKER)


@dataclass
class Bank:
    """What it knows."""

    points: dict[str, list[Point]] = field(default_factory=dict[str, list[Point]])
    """`{order: where its next calls are held}`, each once."""
    refuses: set[str] = field(default_factory=set[str])
    """Orders of which it refuses the next payment."""
    held: set[str] = field(default_factory=set[str])
    """Orders that are held now."""
    interrupted: Counter[Point] = field(default_factory=Counter[Point])
    """How many calls were held at each point until their caller was dead."""
    keys: dict[str, str] = field(default_factory=dict[str, str])
    """`{key: order}` of each payment that it has counted."""
    asked: Counter[str] = field(default_factory=Counter[str])
    """How often each key has asked for a payment."""

    def effects(self, order: str) -> int:
        """Return how often an order was paid."""
        return sum(paid == order for paid in self.keys.values())

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[str]:
        """Yield its address."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=200)
        async with server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            url = urlsplit(head.split()[1].decode())
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            status, text = await self._answer(url.path, query, reader)
            lines = f"HTTP/1.0 {status}\r\ncontent-length: {len(text)}\r\n\r\n{text}"
            writer.write(lines.encode())
            await writer.drain()
        except (OSError, EOFError):
            pass  # its caller was killed
        finally:
            writer.close()

    async def _answer(
        self, path: str, query: dict[str, str], reader: asyncio.StreamReader
    ) -> tuple[str, str]:
        order = query["order"]
        match path:
            case "/paid":
                return "200 OK", "done" if self.effects(order) else "missing"
            case "/pass":
                await self._hold(order, query["point"], reader)
                return "200 OK", ""
            case _:
                return await self._pay(order, query["key"], reader)

    async def _pay(self, order: str, key: str, reader: asyncio.StreamReader) -> tuple[str, str]:
        if order in self.refuses:
            self.refuses.remove(order)
            return "402 Payment Required", ""
        self.asked[key] += 1
        await self._hold(order, "arrived", reader)
        try:
            await self._hold(order, "late", reader)
        finally:
            self.keys[key] = order
        await self._hold(order, "counted", reader)
        return "200 OK", f"receipt of {order}"

    async def _hold(self, order: str, point: str, reader: asyncio.StreamReader) -> None:
        """Hold an order here until its caller is dead, if it is to be held here."""
        points = self.points.get(order)
        if not points or points[0] != point:
            return
        self.held.add(order)
        await reader.read()
        self.interrupted[points.pop(0)] += 1
        self.held.discard(order)
        raise EOFError
