"""How long a wait lasts, or until when: judged alike before a run and in it."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic import JsonValue

from coterie.dsl.values import MAX_DURATION, seconds

_TIME = re.compile(
    r"\d{4}-\d\d-\d\d([T ](?!24)\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
"""The form of ISO 8601 that every Python reads alike."""


@dataclass(frozen=True, slots=True)
class RefusedWait:
    """Why a value gives no wait: the type of failure, and what is wanted instead."""

    type: Literal["NotADuration", "NotATime"]
    wanted: str


NO_TIME = RefusedWait(
    "NotATime", "a time like 2026-01-31T09:00Z or 2026-01-31T09:00+02:00, in UTC without an offset"
)
NO_DURATION = RefusedWait("NotADuration", "a duration like 90, 90s, 5m, 1h30m or 2d")
FAR_TIME = RefusedWait("NotATime", "a time within the next hundred years")
LONG_DURATION = RefusedWait("NotADuration", "a duration between 0 and a hundred years")


def moment_of_wait(written: JsonValue, now: float | None) -> float | RefusedWait:
    """Return when a wait for a time ends, in seconds of Unix time.

    Args:
        written: The time.
        now: The present, likewise; None if it is not known.
    """
    if not isinstance(written, str) or not _TIME.fullmatch(written):
        return NO_TIME
    try:
        moment = datetime.fromisoformat(written)
        until = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        datetime.fromtimestamp(until, UTC)  # it must be printable
    except (ValueError, OverflowError):
        return NO_TIME
    return FAR_TIME if now is not None and until - now > MAX_DURATION else until


def length_of_wait(written: JsonValue) -> float | RefusedWait:
    """Return how long a wait is, in seconds."""
    try:
        length = seconds(written)
    except ValueError:
        return NO_DURATION
    if isinstance(length, bool) or not isinstance(length, int | float):
        return NO_DURATION
    return length if 0 <= length <= MAX_DURATION else LONG_DURATION
