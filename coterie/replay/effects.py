"""What a run does to the world, in one form for its history and for a replay of it.

Temporal's own replayer compares kinds and ids. What a call is given, how long a timer runs, what
a person is answered and how the run ends can be another thing under the same id.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, cast

from google.protobuf.json_format import MessageToDict
from pydantic import JsonValue
from temporalio.api.common.v1 import Payload, RetryPolicy

from activities.contracts import NOTIFY
from coterie.storage.wire import data_converter
from dsl.values import Json

Kind = Literal["call", "timer", "answer", "end"]


@dataclass(frozen=True, slots=True)
class WorldEffect:
    """One thing done, and everything about it that was decided."""

    kind: Kind
    key: str
    """Which one it is: an activity's id, a timer's number, an update's id."""
    facts: Json
    label: str = ""
    """Its name for people: the summary of a call or a timer."""

    @property
    def told(self) -> str:
        """The deed as people read of it."""
        match self.kind:
            case "call":
                return f"the call {self.key} ({self.label})"
            case "timer":
                return f"timer {self.key} ({self.label})"
            case "answer":
                return f"the answer to update {self.key}"
            case "end":
                return "the end"


def call(
    id: str,
    activity: str,
    queue: str | None,
    given: JsonValue,
    timeout: timedelta,
    retry: RetryPolicy,
    summary: str,
) -> WorldEffect:
    """A call of the world; `queue` is None for the run's own."""
    if activity == NOTIFY and isinstance(given, dict):
        given = {key: value for key, value in given.items() if key != "text"}  # words for people
    facts: Json = {
        "activity": activity,
        "task_queue": queue,
        "input": given,
        "timeout": timeout.total_seconds(),
        "retry": MessageToDict(retry),
        "summary": summary,
    }
    return WorldEffect("call", id, facts, summary)


def timer(id: str, runs: timedelta, summary: str) -> WorldEffect:
    """A timer, as one is started for a deadline or a wait."""
    return WorldEffect("timer", id, {"seconds": runs.total_seconds(), "summary": summary}, summary)


def answer(id: str, said: JsonValue) -> WorldEffect:
    """What somebody was answered who decided, amended or redirected."""
    return WorldEffect("answer", id, {"answer": said})


def end(how: str, came_to: JsonValue, message: str = "") -> WorldEffect:
    """How the run ended, with its result or with the state that it goes on from."""
    facts: Json = {"ended": how}
    if message:
        facts["message"] = message
    if isinstance(came_to, dict):
        facts |= came_to
    elif came_to is not None:
        facts["result"] = came_to
    return WorldEffect("end", "", facts)


def values(payloads: Iterable[Payload]) -> list[JsonValue]:
    """What payloads hold; those that are not there at all are left out."""
    given = [payload for payload in payloads if payload.metadata]
    converter = data_converter.payload_converter
    return cast("list[JsonValue]", converter.from_payloads(given) if given else [])


def one(payloads: Iterable[Payload]) -> JsonValue:
    """The single value that calls and results of ours have; a list where others have more."""
    held = values(payloads)
    return held[0] if len(held) == 1 else held or None


def text(payload: Payload) -> str:
    """A summary; empty where there is none."""
    return "".join(str(value) for value in values([payload]))
