"""The messages of a session, with what the run did for each and what it replied. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from coterie.activities.contracts import AgentRequest, AgentResponse, FunctionResult
from coterie.gateway.console.conversations_view import ToolCallRow, TurnRow, turn_rows
from coterie.gateway.console.page_values import ShownValue, shown_value
from coterie.gateway.sessions.session_history import SessionHistory, is_message
from coterie.gateway.streams.cursors import Cursor
from coterie.runs.histories.recorded_calls import RecordedCall, calls_by_event
from coterie.runs.histories.recorded_events import (
    RecordedEvent,
    RunClosed,
    RunStarted,
    UpdateAccepted,
    UpdateCompleted,
)
from coterie.workflows.core.messages import ForkInput, SessionInput
from coterie.workflows.core.requests import NOT_YET, Decision, Verdict
from coterie.workflows.sessions.message_queue import MAX_OPEN_MESSAGES


@dataclass(frozen=True, slots=True)
class ToolCallStep:
    """A call of a tool."""

    agent: str
    """`work/act`: the step that called it."""
    call: ToolCallRow
    kind: Literal["tool"] = "tool"


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """What a model said on the way to the reply."""

    agent: str
    text: ShownValue
    facts: tuple[str, ...]
    kind: Literal["answer"] = "answer"


@dataclass(frozen=True, slots=True)
class FailureStep:
    """A call that failed after all its attempts."""

    agent: str
    error: str
    kind: Literal["failure"] = "failure"


@dataclass(frozen=True, slots=True)
class DecisionStep:
    """What a person decided."""

    request: str
    verdict: Verdict
    by: str
    at: str
    comment: str
    kind: Literal["decision"] = "decision"


ChatStep = ToolCallStep | AnswerStep | FailureStep | DecisionStep


@dataclass(frozen=True, slots=True)
class SentMessage:
    """What a person or a program sent."""

    by: str
    """The name that the run recorded: from the gateway, that of the verified identity."""
    at: datetime
    text: ShownValue
    is_json: bool
    """Whether it is another value than a text."""
    is_verified: bool
    """Whether a gateway verified who sent it, as far as the event tells."""


@dataclass(frozen=True, slots=True)
class SentReply:
    """How a message was answered."""

    at: datetime
    text: ShownValue | None
    is_json: bool
    error: str = ""
    """Why there is no reply."""


@dataclass(frozen=True, slots=True)
class ChatExchange:
    """One message, what the run did for it, and its reply."""

    id: str
    """Of its place in the session; the same in every page."""
    message: SentMessage | None
    """None for what the run did before the first message that the page has."""
    steps: tuple[ChatStep, ...]
    reply: SentReply | None
    """None while it is open."""
    is_current: bool
    """Whether the run works on it now, or would next."""


@dataclass(frozen=True, slots=True)
class ChatHistory:
    """Some exchanges of a session, oldest first."""

    exchanges: tuple[ChatExchange, ...]
    earlier: str
    """The cursor before which there are further ones; empty: there are none."""
    continues: ForkInput | None
    """The session whose messages came before the first one here."""
    closed: RunClosed | None
    """How the session ended."""


@dataclass(slots=True)
class _Exchange:
    """An exchange as its events come."""

    place: int
    run_id: str
    accepted: UpdateAccepted | None
    completed: UpdateCompleted | None = None
    calls: list[tuple[int, RecordedCall]] = field(default_factory=list[tuple[int, RecordedCall]])
    decisions: list[tuple[int, DecisionStep]] = field(
        default_factory=list[tuple[int, DecisionStep]]
    )


_Placed = tuple[str, RecordedEvent]
"""An event and the run id of its history."""


def exchanges_of(history: SessionHistory, count: int) -> ChatHistory:
    """Return the latest exchanges before the position of a history.

    A session works on its messages one after the other. So what it did belongs to the first message
    that had no reply yet; else to the latest one.
    """
    events = [(part.run_id, event) for part in history.parts for event in part.events]
    found = _messages(events)
    asked = [it for it in found if _is_asked(it, history)]
    shown = asked[-count:]
    is_first = history.is_whole and len(shown) == len(asked)
    first = 0
    if shown and not is_first:
        first = found[max(0, found.index(shown[0]) - MAX_OPEN_MESSAGES)].place
    last = _last_place(events, found, shown, history)
    opening = _Exchange(-1, events[0][0] if events else "", None)
    _assign(events[first:last], first, [it for it in found if first <= it.place], opening)
    exchanges = [*([opening] if is_first or not shown else []), *shown]
    current = next((it for it in found if it.completed is None), None)
    newest = events[-1][1] if events else None
    start = events[0][1] if events else None
    return ChatHistory(
        exchanges=tuple(
            _exchange(it, is_current=it is current)
            for it in exchanges
            if it.accepted is not None or it.calls or it.decisions
        ),
        earlier="" if is_first else _earlier(events, shown, history.before.first),
        continues=start.input.fork if is_first and isinstance(start, RunStarted) else None,
        closed=newest if isinstance(newest, RunClosed) else None,
    )


def _messages(events: Sequence[_Placed]) -> list[_Exchange]:
    """Return the messages with their replies; one that moved to the next history only there."""
    found: dict[tuple[str, str], _Exchange] = {}
    for place, (run_id, event) in enumerate(events):
        if isinstance(event, UpdateAccepted) and is_message(event):
            found[run_id, event.update] = _Exchange(place, run_id, event)
        elif isinstance(event, UpdateCompleted) and (run_id, event.update) in found:
            found[run_id, event.update].completed = event
    latest = {it.accepted.update: it for it in found.values() if it.accepted is not None}
    return [
        it
        for it in found.values()
        if not _has_moved(it) or (it.accepted is not None and latest[it.accepted.update] is it)
    ]


def _has_moved(exchange: _Exchange) -> bool:
    failure = None if exchange.completed is None else exchange.completed.failure
    return failure is not None and failure.type == NOT_YET


def _is_asked(exchange: _Exchange, history: SessionHistory) -> bool:
    """Return whether a message is before the position, in the order of the histories."""
    if exchange.run_id != history.before.run:
        return True
    return exchange.accepted is not None and exchange.accepted.id < history.before.event


def _last_place(
    events: Sequence[_Placed],
    found: Sequence[_Exchange],
    shown: Sequence[_Exchange],
    history: SessionHistory,
) -> int:
    """Return the place after the events of the messages that are shown."""
    later = [it.place for it in found if not _is_asked(it, history)]
    if not shown or not later:
        return len(events)
    ends = {it.completed.id for it in shown if it.completed is not None}
    places = [
        place
        for place, (run_id, event) in enumerate(events)
        if event.id in ends and run_id == shown[-1].run_id
    ]
    return max([later[0], *places]) + 1


def _assign(
    events: Sequence[_Placed], first: int, found: Sequence[_Exchange], opening: _Exchange
) -> None:
    """Give each call and each decision to the exchange that it belongs to."""
    calls = _calls(events)
    messages = {(it.run_id, it.accepted.update): it for it in found if it.accepted is not None}
    waiting: list[_Exchange] = []
    current = opening
    for place, (run_id, event) in enumerate(events, first):
        key = (run_id, event.id)
        if key in calls:
            (waiting[0] if waiting else current).calls.append((place, calls[key]))
        match event:
            case UpdateAccepted(update=update) if (run_id, update) in messages:
                waiting.append(messages[run_id, update])
                current = waiting[0]
            case UpdateCompleted(update=update) if (run_id, update) in messages:
                current = messages[run_id, update]
                waiting = [it for it in waiting if it is not current]
            case UpdateCompleted():
                step = _decision(event)
                if step is not None:
                    (waiting[0] if waiting else current).decisions.append((place, step))
            case _:
                pass


def _calls(events: Sequence[_Placed]) -> dict[tuple[str, int], RecordedCall]:
    """Return the calls by the place of the event that schedules them."""
    by_history: dict[str, list[RecordedEvent]] = {}
    for run_id, event in events:
        by_history.setdefault(run_id, []).append(event)
    return {
        (run_id, id): call
        for run_id, part in by_history.items()
        for id, call in calls_by_event(part).items()
    }


def _decision(event: UpdateCompleted) -> DecisionStep | None:
    decision = None if event.value is None else event.value.read_if(Decision)
    if decision is None:
        return None
    return DecisionStep(decision.id, decision.verdict, decision.by, decision.at, decision.comment)


def _earlier(events: Sequence[_Placed], shown: Sequence[_Exchange], first: str) -> str:
    if shown and shown[0].accepted is not None:
        return str(Cursor(first, shown[0].run_id, shown[0].accepted.id))
    run_id, event = events[0]
    return str(Cursor(first, run_id, event.id))


def _exchange(given: _Exchange, *, is_current: bool) -> ChatExchange:
    message = None if given.accepted is None else _message(given.accepted)
    reply = None if given.completed is None else _reply(given.completed)
    steps = [*_call_steps(given.calls), *given.decisions]
    ordered = [step for _, step in sorted(steps, key=lambda pair: pair[0])]
    if reply is not None and reply.text is not None:
        said = reply.text.text
        ordered = [it for it in ordered if it.kind != "answer" or it.text.text != said]
    number = 0 if given.accepted is None else given.accepted.id
    id = f"m-{given.run_id[:13]}-{number}"
    return ChatExchange(id, message, tuple(ordered), reply, is_current)


def _message(accepted: UpdateAccepted) -> SentMessage:
    asked = accepted.value.read_if(SessionInput)
    if asked is None:
        lost = ShownValue("The message is stored where this gateway cannot read it.")
        return SentMessage("unknown", accepted.at, lost, is_json=False, is_verified=False)
    is_json = not isinstance(asked.message, str)
    sender = accepted.sender
    is_verified = sender is not None and sender.method != "login"
    return SentMessage(asked.by, accepted.at, shown_value(asked.message), is_json, is_verified)


def _reply(completed: UpdateCompleted) -> SentReply | None:
    failure = completed.failure
    if failure is not None and failure.type == NOT_YET:
        return None  # the next history has it, and nobody waits for the reply any more
    if failure is not None:
        error = f"{failure.type}: {failure.message}" if failure.type else failure.message
        return SentReply(completed.at, None, is_json=False, error=error)
    value = None if completed.value is None else completed.value.json
    return SentReply(completed.at, shown_value(value), not isinstance(value, str))


def _call_steps(calls: Sequence[tuple[int, RecordedCall]]) -> Iterator[tuple[int, ChatStep]]:
    """Yield the steps of the calls; a call of a function by an agent is one of its tool calls."""
    turns: dict[str, list[tuple[int, RecordedCall]]] = {}
    for place, call in calls:
        if isinstance(call.request, AgentRequest):
            turns.setdefault(call.path, []).append((place, call))
    for path, placed in turns.items():
        rows = turn_rows([call for _, call in placed])
        for (place, call), row in zip(placed, rows, strict=True):
            yield from ((place, step) for step in _turn_steps(path, call, row))
    for place, call in calls:
        is_within = any(call.path == path or call.path.startswith(f"{path}/") for path in turns)
        if not isinstance(call.request, AgentRequest) and not is_within:
            yield place, _function_step(call)


def _turn_steps(path: str, call: RecordedCall, row: TurnRow) -> Iterator[ChatStep]:
    if row.error:
        yield FailureStep(path, row.error)
    if row.kind != "compaction" and isinstance(call.answer, AgentResponse):
        said = words_of(call.answer.data if call.answer.answer is None else call.answer.answer)
        if said is not None:
            yield AnswerStep(path, shown_value(said), row.facts)
    for asked in row.calls:
        yield ToolCallStep(path, asked)


def words_of(data: JsonValue) -> JsonValue:
    """Return what a model said: the text alone, if its answer has nothing else."""
    match data:
        case {"text": str(text), **rest} if not rest:
            return text or None
        case _:
            return data


def _function_step(call: RecordedCall) -> ChatStep:
    assert not isinstance(call.request, AgentRequest)
    result: ShownValue | None = None
    if call.error:
        result = shown_value(call.error)
    elif isinstance(call.answer, FunctionResult):
        answer = call.answer
        brief = answer.text if answer.kept is None else answer.kept.preview
        result = shown_value(brief if answer.data is None else answer.data)
    row = ToolCallRow(
        call.request.skill, shown_value(call.request.input), "", result, failed=bool(call.error)
    )
    return ToolCallStep(call.path, row)
