"""The calls in progress of a run: what is retried, and the texts that models write.

They are states, not events: a viewer gets the newest one, and no cursor.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from temporalio.client import WorkflowExecutionDescription

from coterie.dsl.values import Frozen
from coterie.gateway.streams.event_rows import CallName, moment
from coterie.gateway.streams.run_events import CallKind
from coterie.runs.live_texts import LiveAnswer, TextPiece, live_answers
from coterie.runs.retries import retries_of


class ActiveCall(Frozen):
    """A call that has not ended."""

    call: str
    kind: CallKind
    step: str
    attempt: int = 1
    error: str = ""
    """Why the attempt before failed."""
    lost: bool = False
    """Whether the worker of the attempt before was lost."""
    next_attempt: str = ""
    """When the next attempt starts; empty while one runs."""


class ActiveCalls(Frozen):
    """All calls of a run that have not ended."""

    run: str
    calls: tuple[ActiveCall, ...] = ()


class StreamedText(Frozen):
    """What a model has written since the last one of its message.

    A client keeps one text per message, and puts `text` at `start` in it. An attempt that follows a
    lost one is a message of its own, and replaces that of the same call.
    """

    run: str
    message: str
    """The call and its attempt: `0003.plan.write/2`."""
    call: str
    attempt: int
    step: str
    start: int
    """Characters of the message before `text`."""
    text: str
    missed: int = 0
    """Characters right before `text` that the server no longer has; the answer has them."""


StateName = Literal["calls", "text"]


async def calls_of(
    run: str, described: WorkflowExecutionDescription, names: Mapping[str, CallName]
) -> tuple[ActiveCalls, tuple[LiveAnswer, ...]]:
    """Return the calls in progress, and the texts that models write in them.

    Args:
        run: The id of the run.
        described: The server's description of it.
        names: The calls that its history has begun and not ended.
    """
    steps = {call: name.step for call, name in names.items()}
    retries = {retry.call: retry for retry in retries_of(described, steps)}
    calls: list[ActiveCall] = []
    for name in names.values():
        retry = retries.get(name.call)
        if retry is None:
            calls.append(ActiveCall(call=name.call, kind=name.kind, step=name.step))
            continue
        calls.append(
            ActiveCall(
                call=name.call,
                kind=name.kind,
                step=name.step,
                attempt=retry.attempt,
                error=retry.error,
                lost=retry.lost,
                next_attempt="" if retry.at is None else moment(retry.at),
            )
        )
    answers = await live_answers(described, steps)
    return ActiveCalls(run=run, calls=tuple(calls)), answers


def live_text(run: str, piece: TextPiece) -> StreamedText:
    """Return a piece of text as a viewer gets it."""
    answer, tail = piece.answer, piece.answer.tail
    return StreamedText(
        run=run,
        message=f"{answer.call}/{tail.attempt}",
        call=answer.call,
        attempt=tail.attempt,
        step=answer.step,
        start=tail.start + len(tail.text) - len(piece.text),
        text=piece.text,
        missed=piece.missed,
    )


def has_turn(names: Iterable[CallName]) -> bool:
    """Return whether a model may be writing."""
    return any(name.kind == "turn" for name in names)
