"""The messages of a session: what it takes, what it refuses, and how each is answered. Pure.

A message is the update `send_message`, whose answer is the reply. It is open from its arrival to
its reply; a run holds few open messages, so that Temporal always has room for a decision.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.model.outcomes import Failure
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.dsl.sizes import json_size, too_large
from coterie.dsl.values import Json, JsonValue
from coterie.dsl.visible import shortened_text, visible
from coterie.workflows.control.steering_refusals import (
    MessageRefusal,
    MessageUnusable,
    RunUnable,
    SessionMovedOn,
    TooManyMessages,
)
from coterie.workflows.core.extract import MAX_ANSWER_SIZE
from coterie.workflows.core.messages import SessionInput
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import Routed, Session, SessionMessage, SessionReply

MAX_OPEN_MESSAGES = 5
"""Of one run. Temporal keeps ten updates in progress: the rest is for decisions."""

MAX_MESSAGE_SIZE = 100_000
"""Bytes of JSON of one message."""

MAX_REPLY_SIZE = MAX_ANSWER_SIZE
"""Bytes of JSON of a reply: the plain `temporal` CLI shows no larger one."""

_MAX_REPLIES = 100
_MAX_REPLIES_SIZE = 300_000
"""Bytes of JSON of the replies that a run keeps."""

OVERDUE_EVENTS = 20_000
"""Of a history that open messages hold; Temporal ends a run at 51,200."""

OVERDUE_BYTES = 20_000_000
"""The same; Temporal ends a run at 50 MB."""

NO_REPLY = "NoReply"
"""The failure of a message that the run went past."""

Stage = Literal["new", "open", "answered"]


def stage_of(session: Session, id: str) -> Stage:
    """How far the message of this id has come."""
    if id in session.replies:
        return "answered"
    return "open" if any(entry.id == id for entry in _open(session)) else "new"


def _open(session: Session) -> Iterator[SessionMessage]:
    yield from session.queue
    if session.open is not None:
        yield session.open
        yield from session.open.joined


def is_busy(session: Session) -> bool:
    """Whether a message waits for its reply."""
    return session.open is not None or bool(session.queue)


def holds_history(session: Session, events: int, size: int) -> bool:
    """Whether the run must wait with continuing as new until its open messages are answered.

    A history of `events` events and `size` bytes is short enough for that.
    """
    return is_busy(session) and events <= OVERDUE_EVENTS and size <= OVERDUE_BYTES


def message_refusal(
    plan: Plan, state: RunState, asked: SessionInput, *, done: bool
) -> MessageRefusal | None:
    """Why the run does not take this message, or None."""
    session = state.session
    if done or state.stop_by is not None:
        return RunUnable("RunCancelled" if state.stop_by is not None else "RunHasEnded")
    waits = message_waits(plan)
    if not waits:
        return RunUnable("NoSession")
    large = too_large(asked.message, "the message", MAX_MESSAGE_SIZE)
    if large is not None:
        return MessageUnusable("TooLarge", large)
    if session.total >= plan.limits.max_messages:
        return TooManyMessages("SessionFull", plan.limits.max_messages)
    if sum(1 for _ in _open(session)) >= MAX_OPEN_MESSAGES:
        return TooManyMessages("QueueFull", MAX_OPEN_MESSAGES)
    if asked.after is not None and asked.after != newest_id(session):
        return SessionMovedOn(shortened_text(visible(asked.after), 100))
    if len({id(wait) for wait in waits}) == 1:  # else it depends on the step that takes it
        return unfit_message(asked.message, waits[0].schema_)
    return None


def newest_id(session: Session) -> str | None:
    """Return the id of the newest message; None if there was none."""
    if session.queue:
        return session.queue[-1].id
    if session.open is not None:
        return (session.open, *session.open.joined)[-1].id
    return next(reversed(session.replies), None)


def unfit_message(message: JsonValue, schema: Json | None) -> MessageUnusable | None:
    """Why a message does not match the schema of a wait, or None."""
    if schema is None:
        return None
    try:
        problems = mismatches(message, schema, "the message")
    except UnusableSchema as error:
        problems = [f"the message cannot be checked against its schema: {error}"]
    return MessageUnusable("BadMessage", "; ".join(problems)) if problems else None


def receive(session: Session, id: str, asked: SessionInput) -> None:
    """Put a message at the end of the queue."""
    session.received += 1
    session.queue.append(SessionMessage(id, asked.message, asked.by))


def next_number(session: Session) -> int:
    """Return the number of the message that a step takes next, from 1."""
    return session.received - len(session.queue) + 1


def take(state: RunState, message: SessionMessage, *, steers: bool = False) -> None:
    """Start to work on a message; limits count from here.

    Args:
        state: of the run.
        message: to work on.
        steers: whether a message that comes meanwhile joins it.
    """
    session = state.session
    session.open, session.steers = message, steers
    session.teams_before = state.teams_run
    session.visits_before = dict(state.visits)
    state.seen.clear()


def answer(session: Session, id: str, reply: SessionReply) -> None:
    """Keep the reply of a message; of earlier ones as many as may travel."""
    session.replies[id] = reply
    answered = {id}
    if session.open is not None and session.open.id == id:
        for joined in _close_open(session, session.open):
            answered.add(joined.id)
            session.replies[joined.id] = reply
    size = sum(json_size(kept_reply.value) for kept_reply in session.replies.values())
    while len(session.replies) > _MAX_REPLIES or size > _MAX_REPLIES_SIZE:
        oldest = next(iter(session.replies))
        if oldest in answered:
            return
        size -= json_size(session.replies.pop(oldest).value)


def _close_open(session: Session, message: SessionMessage) -> list[SessionMessage]:
    """Return the messages that get the same reply; those that no agent has read come next."""
    session.open = None
    unread = [joined for joined in message.joined if not joined.is_read]
    session.queue[:0] = unread
    session.received += len(unread)
    session.joined -= len(unread)
    return [joined for joined in message.joined if joined.is_read]


def pass_over(session: Session, routed: Routed) -> None:
    """Fail the message that the run worked on, if it has no reply yet.

    Args:
        session: The session.
        routed: Why the run came to its next wait, perhaps because a task has failed.
    """
    if session.open is not None:
        text = "the run went on to the next message without a reply to this one"
        if routed.error is not None and routed.failed_task is not None:
            text += f": task {routed.failed_task!r} failed with {routed.error.type}"
        answer(session, session.open.id, SessionReply(error=Failure(NO_REPLY, text)))


def counted_visits(state: RunState) -> tuple[int, Mapping[str, int]]:
    """Count team visits, in total and per team, since the latest message or the start."""
    session = state.session
    if not session.teams_before:
        return state.teams_run, state.visits
    before = session.visits_before
    visits = {team: number - before.get(team, 0) for team, number in state.visits.items()}
    return state.teams_run - session.teams_before, visits
