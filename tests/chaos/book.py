"""Compares histories, the model's log and the ledger with the promises."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory

_SLACK = 0.05
"""Seconds between the clock of a line in a log and that of an event, both of this machine."""


@dataclass
class Call:
    """One activity of a history."""

    type: str
    id: str
    scheduled: float
    attempts: int = 0
    completed: float | None = None
    ended: float | None = None
    failure: str | None = None
    """The type of what ended it, when it failed or ran out of time."""
    input: str = ""
    result: str = ""

    @property
    def once(self) -> bool:
        """It may happen only once."""
        return "CommandRunner.run_once" in self.input


def calls_of(history: WorkflowHistory) -> list[Call]:
    """Every activity, with what became of it."""
    found: dict[int, Call] = {}
    for event in cast("list[Any]", history.events):
        at = event.event_time.ToMicroseconds() / 1e6
        match event.event_type:
            case EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
                scheduled = event.activity_task_scheduled_event_attributes
                found[event.event_id] = Call(
                    scheduled.activity_type.name,
                    scheduled.activity_id,
                    at,
                    input=_text(scheduled.input.payloads),
                )
            case EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED:
                started = event.activity_task_started_event_attributes
                found[started.scheduled_event_id].attempts = started.attempt
            case EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
                done = event.activity_task_completed_event_attributes
                call = found[done.scheduled_event_id]
                call.completed = call.ended = at
                call.result = _text(done.result.payloads)
            case EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED:
                failed = event.activity_task_failed_event_attributes
                call = found[failed.scheduled_event_id]
                call.ended, call.failure = at, failed.failure.application_failure_info.type
            case EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
                late = event.activity_task_timed_out_event_attributes
                call = found[late.scheduled_event_id]
                call.ended, call.failure = at, "timed out"
            case _:
                pass
    return list(found.values())


def _text(payloads: Iterable[Any]) -> str:
    return b" ".join(payload.data for payload in payloads).decode(errors="replace")


def read_log(log: Path) -> dict[str, list[float]]:
    """`{run id/activity id: when the model was asked}`."""
    found: dict[str, list[float]] = defaultdict(list)
    for line in log.read_text().splitlines():
        shown = cast("dict[str, str]", json.loads(line))
        if shown["event"] == "asked":
            found[shown["call"]].append(datetime.fromisoformat(shown["at"]).timestamp())
    return dict(found)


@dataclass
class Unknown:
    """A release whose outcome was lost, and how the run resolved it."""

    run: str
    became: str


def check_calls(
    run: str,
    part: str,
    calls: Sequence[Call],
    asked: Mapping[str, Sequence[float]],
    kills: Sequence[float],
) -> list[str]:
    """What a run's calls of the model did that they must not.

    Args:
        run: its id.
        part: the id of its history, which the model's log names.
        calls: of the history.
        asked: the model's log.
        kills: when something was killed.
    """
    wrong: list[str] = []
    for call in calls:
        if call.type != "run_agent":
            continue
        times = asked.get(f"{part}/{call.id}", ())
        where = f"{run}: {call.id}"
        if len(times) > call.attempts:
            wrong.append(f"{where} called the model {len(times)} times in {call.attempts} attempts")
        if call.completed is None:
            wrong.append(f"{where} has no result: {call.failure}")
            continue
        again = [at for at in times if at > call.completed + _SLACK]
        if again:
            wrong.append(
                f"{where} called the model again {again[0] - call.completed:.2f} s after its "
                "result was recorded"
            )
        in_flight = sum(call.scheduled <= at <= call.completed for at in kills)
        if len(times) - 1 > in_flight:
            wrong.append(
                f"{where} called the model {len(times)} times, but only {in_flight} kills "
                "happened meanwhile"
            )
    return wrong


def read_releases(ledger: Path) -> Counter[str]:
    """How often each `run/key` is in the ledger, whichever execution of the run it names."""
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    parts = (line.split("/", 2) for line in lines)
    return Counter("/".join((run, *key)) for run, _, *key in parts)


def check_ledger(runs: Sequence[str], ledger: Path) -> list[str]:
    """Whether each run is in it, once."""
    lines = read_releases(ledger)
    wrong = [
        f"{run}: released {lines[f'{run}/release']} times"
        for run in runs
        if lines[f"{run}/release"] != 1
    ]
    strange = lines.keys() - {f"{run}/release" for run in runs}
    return [*wrong, *(f"the ledger has {line!r}" for line in sorted(strange))]


def unknowns(run: str, calls: Sequence[Call]) -> list[Unknown]:
    """Every release with an unknown outcome, and how the run resolved it."""
    found: list[Unknown] = []
    functions = [call for call in calls if call.type == "call_function"]
    for number, call in enumerate(functions):
        if not call.once or call.failure is None:
            continue
        verified = functions[number + 1] if number + 1 < len(functions) else None
        if verified is None or verified.completed is None or verified.once:
            became = "nothing"
        else:
            code = json.loads(verified.result)["data"]["exit_code"]
            again = number + 2 < len(functions)
            became = {0: "had completed", 1: "repeated"}.get(
                code, "rejected by a person and repeated" if again else "accepted by a person"
            )
        found.append(Unknown(run, became))
    return found
