"""Read the messages of a session and their replies from its histories."""

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import JsonValue
from temporalio.client import Client, WorkflowHistory

from coterie.runs.histories.history_events import read_events, started
from coterie.runs.histories.history_links import previous_history
from coterie.runs.histories.recorded_events import (
    CallEnded,
    MarkerRecorded,
    TimerFired,
    UpdateAccepted,
    UpdateCompleted,
)
from coterie.runs.run_client import Run
from coterie.workflows.core.messages import SEND_MESSAGE, SessionInput
from coterie.workflows.core.requests import NOT_YET
from coterie.workflows.core.state import RunState


class Exchange(NamedTuple):
    """One message and its answer."""

    id: str
    """Of the message: sent again with it, it is the same message."""
    by: str
    message: JsonValue
    answered: bool = False
    reply: JsonValue = None
    error: str = ""
    """Why there is no reply; empty while it is open, or when it has one."""
    code: str = ""
    """The type of that error."""
    idle_seconds: float = 0.0
    """How long the run had done nothing when the message came."""


async def all_exchanges(client: Client, run: str) -> list[Exchange]:
    """Return the messages of a session in the order of their arrival.

    Those of all its histories, and those of the session that it was forked from, up to that point.
    """
    return await _up_to(client, await Run(client, run).history())


async def _up_to(client: Client, history: WorkflowHistory) -> list[Exchange]:
    """Return the messages of a session up to the end of one of its histories."""
    newer = list(exchanges(history))
    before = await previous_history(client, history)
    while before is not None and not before.is_other_run:
        newer = [*exchanges(before.history), *newer]
        before = await previous_history(client, before.history)
    if before is None or before.point is None or before.point.carried is None:
        return newer
    received_count = RunState.resumed(before.point.carried).session.total
    return [*(await _up_to(client, before.history))[:received_count], *newer]


def exchanges(history: WorkflowHistory) -> Iterator[Exchange]:
    """Yield the messages of one history, in the order of their arrival.

    A message that moved to the next history unanswered is not one of this history.
    """
    exchanges_by_event: dict[int, Exchange] = {}
    last_work = started(history).at
    for event in read_events(history.events):
        match event:
            case UpdateAccepted(name=name) if name == SEND_MESSAGE:
                session_input = SessionInput.model_validate(event.value.json)
                idle = (event.at - last_work).total_seconds()
                exchanges_by_event[event.id] = Exchange(
                    event.update, session_input.by, session_input.message, idle_seconds=idle
                )
            case CallEnded() if event.end != "cancelled":
                last_work = event.at
            case MarkerRecorded() | TimerFired():
                last_work = event.at
            case UpdateCompleted():
                last_work = event.at
                _answer(exchanges_by_event, event)
            case _:
                pass
    yield from exchanges_by_event.values()


def _answer(exchanges_by_event: dict[int, Exchange], event: UpdateCompleted) -> None:
    """Add the reply or the refusal to its message; forget one that must be sent again."""
    exchange = exchanges_by_event.get(event.accepted)
    if exchange is None:
        return
    if event.failure is not None and event.failure.type == NOT_YET:
        del exchanges_by_event[event.accepted]
        return
    reply = None if event.value is None else event.value.json
    error, code = ("", "") if event.failure is None else (event.failure.message, event.failure.type)
    exchanges_by_event[event.accepted] = exchange._replace(
        answered=True, reply=reply, error=error, code=code
    )
