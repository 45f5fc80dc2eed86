"""Causes of what reaches a run from outside: messages, signals, forks, notifications."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class WorkerBlocked:
    """A watchdog ended a worker that the run had blocked."""

    code: Literal["worker_blocked"]
    worker: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Forked:
    """The run continues from a point of another one."""

    code: Literal["forked"]
    run: str
    at: str
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class MessageTaken:
    """A session began to work on a message."""

    code: Literal["message_taken"]
    number: int
    """From 1."""
    by: str


@dataclass(frozen=True, slots=True)
class MessageRefused:
    """The run could not accept a message."""

    code: Literal["refused"]
    refusal: str | None = None
    """Its code, if it has one."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class SignalsDropped:
    """More signals arrived than may wait before the run can judge them."""

    code: Literal["signals_dropped"]
    name: str
    dropped: int
    waiting: int
    waiting_bytes: int
    max_waiting: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class NotificationLost:
    """A notification of a request reached nobody."""

    code: Literal["notice_failed"]
    channel: str
    what: str
    request: str
    message: str = ""


MessageCause = (
    WorkerBlocked | Forked | MessageTaken | MessageRefused | SignalsDropped | NotificationLost
)
"""What reached a run from outside, or did not reach anybody."""
