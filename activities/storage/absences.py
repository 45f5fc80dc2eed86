"""Store what is paid for or has happened, although the storage is away for a while.

A call that failed here would be paid for again, or its effect would be unknown. What is absent may
come back, so it is retried within the time of the call; what is malformed stays so.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

from temporalio import activity

from coterie.activities.attempts import seconds_left
from coterie.activities.os_errors import reason_of
from coterie.activities.storage.blobs import BlobDamaged, BlobMissing, Blobs, BlobsUnusable

_LOG = logging.getLogger(__name__)

MAX_ABSENCE = 60.0
"""Seconds that a call waits for its storage, if it has so much time left."""

_FIRST_PAUSE = 0.1
_MAX_PAUSE = 2.0

_MAX_FRESH = 4_000_000
"""Bytes that a worker has just stored and keeps for their first reader."""

_MIN_WAIT = 0.5
"""Seconds of waiting that are worth it."""

T = TypeVar("T")


def may_come_back(error: Exception) -> bool:
    """Return whether what failed so may succeed later: its storage is away, and not damaged."""
    match error:
        case BlobDamaged():
            return False
        case BlobMissing() | BlobsUnusable() | OSError():
            return True
        case _:
            return False


async def outlast_absence(store: Callable[[], Awaitable[T]], seconds: float | None = None) -> T:
    """Store something, again and again while the storage is away and the call has time.

    Args:
        store: May be called several times.
        seconds: Time. Default: what the call in progress has left; outside activities, one try.

    Raises:
        BlobsUnusable: The storage does not answer.
        Exception: What `store` raised last.
    """
    remaining = seconds_left() if seconds is None else seconds
    if remaining is None:
        return await store()
    whole = min(remaining, MAX_ABSENCE)
    end, pause = asyncio.get_running_loop().time() + whole, _FIRST_PAUSE
    while True:
        answering = asyncio.timeout_at(end)
        try:
            async with answering:
                return await store()
        except Exception as error:
            if answering.expired():
                late = f"the storage did not answer within {whole:.0f} s"
                raise BlobsUnusable(late) from error
            now = asyncio.get_running_loop().time()
            if not may_come_back(error) or now + pause >= end:
                raise
            _LOG.warning("a storage is away, and is retried: %s", _reason(error))
        await asyncio.sleep(pause)
        pause = min(2 * pause, _MAX_PAUSE)


def seconds_to_store() -> float | None:
    """Return the seconds for which the result of the current activity may wait for its storage.

    The SDK stores a result after the code of the activity has returned, and sends no heartbeats
    meanwhile: neither the start-to-close nor the heartbeat timeout may pass. None outside
    activities, and if there is no time to wait.
    """
    if not activity.in_activity():
        return None
    info = activity.info()
    limits: list[float] = []
    if info.start_to_close_timeout is not None:
        age = (datetime.now(UTC) - info.started_time).total_seconds()
        limits.append(info.start_to_close_timeout.total_seconds() - max(age, 0.0))
    if info.heartbeat_timeout:
        limits.append(info.heartbeat_timeout.total_seconds())
    remaining = min(limits, default=0.0) / 2
    return remaining if remaining >= _MIN_WAIT else None


def _reason(error: Exception) -> str:
    return reason_of(error) if isinstance(error, OSError) else str(error)


class LastingBlobs:
    """The blobs of a worker's activities: whatever they store outlasts an absence.

    The next turn of an agent reads the results that the worker has just stored, so their latest
    bytes stay in memory until then.
    """

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._fresh = OrderedDict[tuple[str, str], bytes]()
        self._size = 0

    async def put(self, data: bytes, within: str) -> str:
        """Store bytes, and return their name."""
        name = await outlast_absence(lambda: self._blobs.put(data, within))
        self._take(name, within)
        self._fresh[name, within] = data
        self._size += len(data)
        while self._size > _MAX_FRESH:
            self._take(*next(iter(self._fresh)))
        return name

    async def get(self, name: str, within: str) -> bytes:
        """Return the bytes stored under a name; a call reads before it pays, and may be retried."""
        fresh = self._take(name, within)
        return await self._blobs.get(name, within) if fresh is None else fresh

    async def close(self) -> None:
        """Close connections."""
        await self._blobs.close()

    def _take(self, name: str, within: str) -> bytes | None:
        data = self._fresh.pop((name, within), None)
        self._size -= len(data or b"")
        return data


def lasting(blobs: Blobs | None) -> LastingBlobs | None:
    """Return the blobs of an activity; activities that share them find what the other stored."""
    return blobs if blobs is None or isinstance(blobs, LastingBlobs) else LastingBlobs(blobs)
