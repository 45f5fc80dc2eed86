"""The text of a model turn in progress, sent with heartbeats: no event of the history holds it.

The tail is redacted here, over the joined text, because two pieces may share a secret.
"""

import asyncio
from collections.abc import Callable

from temporalio import activity

from coterie.activities.contracts import LiveTail
from coterie.dsl.known_secrets import KnownSecrets
from coterie.dsl.redacted_stream import RedactedStream
from coterie.dsl.values import Json

_FLUSH_SECONDS = 0.1
"""Pieces that arrive within this time are sent together."""


class LiveText:
    """Collects the pieces of an answer, and has them sent soon."""

    def __init__(self, known: KnownSecrets, attempt: int, send: Callable[[], None]) -> None:
        """Begin an empty text.

        Args:
            known: The secrets of the worker.
            attempt: Number of the attempt, from 1.
            send: Sends a heartbeat.
        """
        self._text = RedactedStream(known)
        self._attempt = attempt
        self._send = send
        self._timer: asyncio.TimerHandle | None = None
        self._last = float("-inf")

    @classmethod
    def of_activity(cls, known: KnownSecrets, send: Callable[[], None]) -> "LiveText | None":
        """Return the live text of the current activity; None where nobody can see one."""
        if not activity.in_activity() or not activity.info().heartbeat_timeout:
            return None
        return cls(known, activity.info().attempt, send)

    def write(self, piece: str) -> None:
        """Add a piece of the answer; send it at once, or soon after the previous one."""
        self._text.write(piece)
        if self._timer is None and piece:
            loop = asyncio.get_running_loop()
            due = max(0.0, self._last + _FLUSH_SECONDS - loop.time())
            self._timer = loop.call_later(due, self._flush)

    def details(self) -> Json:
        """Return the tail as a heartbeat detail."""
        start, text = self._text.tail()
        tail = LiveTail(attempt=self._attempt, start=start, text=text)
        return tail.model_dump(mode="json", exclude_defaults=True)

    def __enter__(self) -> None:
        """Do nothing: the first piece starts the timer."""

    def __exit__(self, *_: object) -> None:
        """Send nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _flush(self) -> None:
        self._timer = None
        self._last = asyncio.get_running_loop().time()
        self._send()
