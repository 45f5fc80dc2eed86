"""Positions in a stream of AG-UI: what a client has, so that it gets each event once.

    FIRST.RUN.EVENT/2/o1;m=0003.plan.write/1:153:9f3c2a10;s=5be0...

The cursor of the one stream comes first. `/2`: the client has two events of the next event of the
run. `/o1`: it has one event of the opening. `m`: characters of a text in progress that it has, and
their checksum. `s`: the digest of the state that it has. No gateway remembers anything.
"""

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.streams.cursors import Cursor, InvalidCursor

_MAX_POSITION = 32_768
_MAX_TEXTS = 1_000
_HEAD = re.compile(r"(?P<cursor>[^/;]+)/(?P<passed>\d{1,6})(?:/o(?P<opening>\d{1,6}))?", re.ASCII)
_TEXT = re.compile(
    r"m=(?P<call>[^/;:=]*)/(?P<attempt>\d{1,9}):(?P<sent>\d{1,9}):(?P<crc>[0-9a-f]{8})(?P<ended>x?)",
    re.ASCII,
)
_STATE = re.compile(r"s=(?P<state>[0-9a-f]{16})", re.ASCII)


@dataclass(frozen=True, slots=True)
class TextSent:
    """What a client has of the text that a model writes."""

    call: str
    attempt: int
    sent: int = 0
    """Characters."""
    crc: int = 0
    """CRC-32 of them."""
    has_ended: bool = False
    """Whether the client knows that it ends, but not yet that it does not count."""

    def begins(self, text: str) -> bool:
        """Return whether the client has the beginning of a text."""
        return len(text) >= self.sent and _crc(text[: self.sent]) == self.crc

    def with_piece(self, piece: str) -> "TextSent":
        """Return it with more text."""
        return replace(self, sent=self.sent + len(piece), crc=_crc(piece, self.crc))


@dataclass(frozen=True, slots=True)
class Position:
    """What a client has."""

    cursor: Cursor
    passed: int = 0
    """Events that came of the event of the run after the cursor."""
    opening: int | None = None
    """Events that came of the opening; None: all."""
    texts: tuple[TextSent, ...] = ()
    state: str = ""
    """The digest of its state; empty if it has none of this run."""

    def __str__(self) -> str:
        """Return the id of the event before it."""
        parts = [f"{self.cursor}/{self.passed}"]
        if self.opening is not None:
            parts[0] += f"/o{self.opening}"
        for text in self.texts:
            call, mark = quote(text.call, safe=""), "x" * text.has_ended
            parts.append(f"m={call}/{text.attempt}:{text.sent}:{text.crc:08x}{mark}")
        if self.state:
            parts.append(f"s={self.state}")
        return ";".join(parts)

    @classmethod
    def parse(cls, text: str) -> "Position":
        """Read the id of an event.

        Raises:
            CommandError: It is none.
        """
        head, *rest = text.split(";") if len(text) <= _MAX_POSITION else [""]
        match = _HEAD.fullmatch(head)
        if match is None or len(rest) > _MAX_TEXTS:
            raise InvalidCursor(text)
        state = _STATE.fullmatch(rest[-1]) if rest else None
        texts = [_TEXT.fullmatch(part) for part in (rest if state is None else rest[:-1])]
        opening = match["opening"]
        return cls(
            Cursor.parse(match["cursor"]),
            int(match["passed"]),
            None if opening is None else int(opening),
            tuple(_read_texts(texts, text)),
            "" if state is None else state["state"],
        )

    def text(self, call: str) -> TextSent | None:
        """Return what the client has of the text of a call."""
        return next((text for text in self.texts if text.call == call), None)

    def with_text(self, text: TextSent) -> "Position":
        """Return it with what the client has of a text now."""
        others = (other for other in self.texts if other.call != text.call)
        return replace(self, texts=(*others, text))

    def without_text(self, call: str) -> "Position":
        """Return it without the text of a call."""
        return replace(self, texts=tuple(text for text in self.texts if text.call != call))


def _read_texts(matches: Iterable[re.Match[str] | None], whole: str) -> Iterable[TextSent]:
    for match in matches:
        if match is None:
            raise InvalidCursor(whole)
        call = unquote(match["call"])
        crc, has_ended = int(match["crc"], 16), bool(match["ended"])
        yield TextSent(call, int(match["attempt"]), int(match["sent"]), crc, has_ended)


def _crc(text: str, before: int = 0) -> int:
    return zlib.crc32(text.encode(errors="surrogatepass"), before)


def position_in(text: str, run: str) -> Position | None:
    """Return the position that a client sends; None if it sends none.

    Raises:
        CommandError: It is none of an event.
    """
    if not text:
        return None
    try:
        return Position.parse(text)
    except InvalidCursor:
        raise Rejection(
            422,
            "invalid",
            f"`Last-Event-ID` is no id of an event of the run {run!r}",
            "Send the `id` of the last event that came, or leave it out for snapshots.",
        ) from None
