"""Clients of an event stream over real connections, which break at any byte."""

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from tests.support.event_reading import Message, Texts, parse_message

_AGAIN_SECONDS = 0.2
_READ = 1_024


@dataclass
class StreamClient:
    """One client: it keeps what it was sent, and comes back with its last cursor."""

    runs: Sequence[str]
    token: str
    port: Callable[[], int]
    """Of a gateway."""
    chance: random.Random
    events: dict[str, list[Message]] = field(default_factory=dict[str, list[Message]])
    """`{run: the events of its histories}`."""
    texts: dict[str, Texts] = field(default_factory=dict[str, Texts])
    pieces: list[Message] = field(default_factory=list[Message])
    """Every text in progress."""
    connections: int = 0
    _last_id: str = ""
    _writer: asyncio.StreamWriter | None = None

    def __post_init__(self) -> None:
        for run in self.runs:
            self.events[run], self.texts[run] = [], Texts()

    @property
    def is_done(self) -> bool:
        """Whether all its runs have ended."""
        return all(
            any(event.data.get("state") == "completed" for event in events)
            for events in self.events.values()
        )

    def cut(self) -> None:
        """Break the connection, in the middle of a message or between two."""
        if self._writer is not None:
            self._writer.transport.abort()

    async def follow(self) -> None:
        """Follow the runs until they have ended, through as many connections as it takes."""
        while not self.is_done:
            with suppress(OSError, asyncio.IncompleteReadError, EOFError):
                await self._connect()
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _connect(self) -> None:
        reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port())
        try:
            self._writer.write(self._request())
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                return
            self.connections += 1
            buffer = b""
            while not self.is_done and (data := await reader.read(_READ)):
                *blocks, buffer = (buffer + data).split(b"\n\n")
                for block in blocks:
                    self._take(block)
        finally:
            self._writer.transport.abort()

    def _request(self) -> bytes:
        if len(self.runs) == 1:
            path = f"/v1/runs/{quote(self.runs[0], safe='')}/events?after=start"
        else:
            path = f"/v1/events?{urlencode([('runs', run) for run in self.runs])}&after=start"
        lines = [f"GET {path} HTTP/1.0", "Host: 127.0.0.1", f"Authorization: Bearer {self.token}"]
        if self._last_id:
            lines.append(f"Last-Event-ID: {self._last_id}")
        return "\r\n".join([*lines, "", ""]).encode()

    def _take(self, block: bytes) -> None:
        message = parse_message(block)
        if message is None:
            return
        self._last_id = message.id or self._last_id
        if message.event not in ("history", "text"):
            return
        run = str(message.data["run"])
        self.texts[run].take(message)
        if message.event == "history":
            self.events[run].append(message)
        else:
            self.pieces.append(message)
