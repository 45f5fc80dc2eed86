"""Describe a run's effects on the world, in one form for its history and for a replay.

Temporal's own replayer compares kinds and ids. The input of a call, the duration of a timer, the
answer to a person and the result of the run can differ under the same id.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from google.protobuf.json_format import MessageToDict
from pydantic import JsonValue
from temporalio.api.common.v1 import RetryPolicy

from coterie.activities.contracts import NOTIFY
from coterie.dsl.values import Json

Kind = Literal["call", "timer", "answer", "end"]


@dataclass(frozen=True, slots=True)
class WorldEffect:
    """One effect, with everything that was decided about it."""

    kind: Kind
    key: str
    """Identifies the effect: an activity's id, a timer's number, an update's id."""
    facts: Json
    label: str = ""
    """Name for people: the summary of a call or a timer."""

    @property
    def description(self) -> str:
        """A description for people."""
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
    """Describe a call; `queue` is None for the run's own queue."""
    if activity == NOTIFY and isinstance(given, dict):
        given = {key: value for key, value in given.items() if key != "text"}  # text for people
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
    """Describe a timer, as started for a deadline or a wait."""
    return WorldEffect("timer", id, {"seconds": runs.total_seconds(), "summary": summary}, summary)


def answer(id: str, said: JsonValue) -> WorldEffect:
    """Describe the answer to a decision, an amendment or a redirect."""
    return WorldEffect("answer", id, {"answer": said})


def end(how: str, came_to: JsonValue, message: str = "") -> WorldEffect:
    """Describe how the run ended: its result, or the state with which it continued as new."""
    facts: Json = {"ended": how}
    if message:
        facts["message"] = message
    if isinstance(came_to, dict):
        facts |= came_to
    elif came_to is not None:
        facts["result"] = came_to
    return WorldEffect("end", "", facts)
