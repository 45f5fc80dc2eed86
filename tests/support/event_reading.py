"""Reads what an event stream sends, and what the histories of a run say it must send."""

import json
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue
from temporalio.client import Client

from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.event_rows import RowReader
from coterie.gateway.streams.history_pages import HistoryPages


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a stream."""

    event: str
    data: dict[str, JsonValue]
    id: str = ""


def parse_message(text: bytes) -> Message | None:
    """Return the message of one block; None for a comment or a time."""
    fields: dict[str, str] = {}
    for line in text.decode().splitlines():
        name, _, value = line.partition(": ")
        fields[name] = value
    if "event" not in fields:
        return None
    return Message(fields["event"], json.loads(fields["data"]), fields.get("id", ""))


@dataclass
class Texts:
    """What a client shows of the calls of a run: the text so far, and in the end the answer."""

    of_call: dict[str, str] = field(default_factory=dict[str, str])
    answers: dict[str, str] = field(default_factory=dict[str, str])
    """Those that the history records."""
    _message_of: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, message: Message) -> None:
        """Take any message of a stream."""
        data = message.data
        call = str(data.get("call"))
        if message.event == "text":
            if self._message_of.get(call) != data["message"]:
                self._message_of[call] = str(data["message"])
                self.of_call[call] = ""
            start = data["start"]
            assert isinstance(start, int)
            text = self.of_call[call].ljust(start, "?")
            self.of_call[call] = text[:start] + str(data["text"])
        elif data.get("type") == "call_ended" and isinstance(data.get("answer"), dict):
            answer = str(cast("dict[str, JsonValue]", data["answer"]).get("text"))
            self.of_call[call] = self.answers[call] = answer


async def parsed(blocks: AsyncIterable[bytes]) -> AsyncGenerator[Message]:
    """Yield the messages of a stream."""
    async for block in blocks:
        message = parse_message(block)
        if message is not None:
            yield message


async def expected_cursors(client: Client, run: str) -> list[str]:
    """Return the cursors of all events of a run, in their order, by reading all its histories."""
    pages = HistoryPages(lambda: client)
    latest = await pages.latest(run)
    found: list[str] = []
    for part in await pages.lineage(run, latest.run_id):
        reader, after = RowReader(run, latest.first, part.run), part.after
        async for page in pages.forwards(run, part.run):
            rows = reader.rows(page.events, after)
            after = rows[-1].cursor.event if rows else after
            found += [str(row.cursor) for row in rows]
    return found


def in_order(cursors: list[str]) -> bool:
    """Return whether events of the same history have rising ids, and none is there twice."""
    last: dict[str, int] = {}
    for text in cursors:
        cursor = Cursor.parse(text)
        if cursor.event <= last.get(cursor.run, 0):
            return False
        last[cursor.run] = cursor.event
    return True
