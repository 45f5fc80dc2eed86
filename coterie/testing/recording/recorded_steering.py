"""What people did in a recorded run: messages, decisions, signals, pauses, amendments, skips."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from pydantic import JsonValue

from coterie.dsl.values import Json
from coterie.replay.observed_replay import ReceivedMessage
from coterie.runs.histories.exchanges import Exchange
from coterie.runs.histories.recorded_events import RecordedEvent, SignalReceived, UpdateAccepted
from coterie.testing.files.case_document import (
    AmendmentDocument,
    DecisionDocument,
    MessageDocument,
    PauseDocument,
    RedirectDocument,
    SayDocument,
    SignalDocument,
    SkipDocument,
)

_MAX_REPLY_LENGTH = 300
"""Characters of JSON; of a longer reply a test only expects that it exists."""

_SHORT = 0.1
"""Seconds that are not worth recording."""

_DECISIONS = ("decide", "approve", "reject", "retry", "skip")
_PAUSES = ("pause", "resume")


def recorded_decisions(received: Sequence[ReceivedMessage]) -> Iterator[DecisionDocument]:
    """Yield the decisions, each with the time that its request had waited."""
    for message in received:
        content = message.said
        if message.name not in _DECISIONS or not isinstance(content, dict):
            continue
        for request in message.changed:
            fields: dict[str, JsonValue] = {
                "approval": request.id,
                "decision": content.get("decision", message.name),
                "by": content.get("by") or "unknown",
            }
            comment = content.get("comment") or content.get("why")
            further = {"comment": comment or None} | {
                key: content.get(key) for key in ("payload", "value")
            }
            fields |= {key: value for key, value in further.items() if value is not None}
            seconds = whole_seconds(message.at, datetime.fromisoformat(request.since))
            if seconds:
                fields["after"] = seconds
            yield DecisionDocument.model_validate(fields)


def recorded_signals(came: Sequence[RecordedEvent], start: datetime) -> Iterator[SignalDocument]:
    """Yield the signals of the team itself, with their times."""
    for event in came:
        if isinstance(event, SignalReceived) and event.name not in (*_DECISIONS, *_PAUSES):
            yield SignalDocument(
                signal=event.name, payload=event.value.json, after=whole_seconds(event.at, start)
            )


def recorded_pauses(came: Sequence[RecordedEvent], start: datetime) -> Iterator[PauseDocument]:
    """Yield each pause up to the resume that followed it."""
    since: SignalReceived | None = None
    for event in came:
        if not isinstance(event, SignalReceived) or event.name not in _PAUSES:
            continue
        if event.name == "pause" and since is None:
            since = event
        elif event.name == "resume" and since is not None:
            content = _mapping(since.value.json)
            yield PauseDocument(
                lasts=whole_seconds(event.at, since.at),
                after=whole_seconds(since.at, start),
                by=str(content.get("by") or "unknown"),
                why=str(content.get("why") or ""),
            )
            since = None


def recorded_amendments(
    came: Sequence[RecordedEvent], start: datetime
) -> Iterator[AmendmentDocument]:
    """Yield the amendments of the context, with their times."""
    return (AmendmentDocument.model_validate(fields) for fields in _updates("amend", came, start))


def recorded_redirects(
    came: Sequence[RecordedEvent], start: datetime
) -> Iterator[RedirectDocument]:
    """Yield the redirects to other teams, with their times."""
    return (RedirectDocument.model_validate(fields) for fields in _updates("redirect", came, start))


def _updates(name: str, came: Sequence[RecordedEvent], start: datetime) -> Iterator[Json]:
    for event in came:
        if isinstance(event, UpdateAccepted) and event.name == name:
            yield {**_mapping(event.value.json), "after": whole_seconds(event.at, start)}


def _mapping(value: JsonValue) -> Json:
    return value if isinstance(value, dict) else {}


def recorded_skips(received: Sequence[ReceivedMessage], start: datetime) -> Iterator[SkipDocument]:
    """Yield skips of tasks that did not wait for a person; others are decisions."""
    for message in received:
        content = message.said
        if message.name == "skip" and isinstance(content, dict) and not message.changed:
            yield SkipDocument.model_validate(
                {**content, "after": whole_seconds(message.at, start)}
            )


def recorded_says(received: Sequence[ReceivedMessage], start: datetime) -> Iterator[SayDocument]:
    """Yield what people said to agents at work, each while its agent is at work again."""
    for message in received:
        if message.name != "say" or not isinstance(message.said, dict):
            continue
        fields: dict[str, JsonValue] = {
            "text": message.said.get("text"),
            "step": message.answer,
            "by": message.said.get("by") or "unknown",
        }
        if message.since is not None:
            fields["during"] = message.answer
        seconds = (message.at - (message.since or start)).total_seconds()
        if seconds >= _SHORT:
            fields["after"] = round(seconds, 1)
        yield SayDocument.model_validate(fields)


def whole_seconds(moment: datetime, since: datetime) -> float:
    """Return the whole seconds between two times; fractions vary."""
    return float(int((moment - since).total_seconds()))


def message_document(one: Exchange) -> MessageDocument:
    """Return a message as an entry of a test."""
    return MessageDocument.model_validate(dict(_fields(one)))


def _fields(exchange: Exchange) -> Iterator[tuple[str, JsonValue]]:
    yield "message", exchange.message
    yield "by", exchange.by or "unknown"
    if int(exchange.idle_seconds):
        yield "after", float(int(exchange.idle_seconds))
    if exchange.code:
        yield "refused", exchange.code
    elif exchange.answered:
        yield "reply", _check(exchange.reply)


def _check(reply: JsonValue) -> JsonValue:
    if len(json.dumps(reply)) > _MAX_REPLY_LENGTH:
        return {"exists": True}
    return {"equals": reply} if isinstance(reply, dict) else reply
