"""What people did in a recorded run: decisions, signals, pauses, amendments, redirects, skips."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from pydantic import JsonValue

from coterie.replay.observer import ReceivedMessage
from coterie.testing.files.case_document import (
    AmendmentDocument,
    DecisionDocument,
    PauseDocument,
    RedirectDocument,
    SignalDocument,
    SkipDocument,
)
from coterie.testing.recording.recorded_events import RecordedMessage, json_of

_DECISIONS = ("decide", "approve", "reject", "retry", "skip")


def recorded_decisions(received: Sequence[ReceivedMessage]) -> Iterator[DecisionDocument]:
    """Yield the decisions, each with the time that its request had waited."""
    for message in received:
        said = message.said
        if message.name not in _DECISIONS or not isinstance(said, dict):
            continue
        for request in message.changed:
            fields: dict[str, JsonValue] = {
                "approval": request.id,
                "decision": said.get("decision", message.name),
                "by": said.get("by") or "unknown",
            }
            comment = said.get("comment") or said.get("why")
            further = {"comment": comment or None} | {
                key: said.get(key) for key in ("payload", "value")
            }
            fields |= {key: value for key, value in further.items() if value is not None}
            seconds = whole_seconds(message.at, datetime.fromisoformat(request.since))
            if seconds:
                fields["after"] = seconds
            yield DecisionDocument.model_validate(fields)


def recorded_signals(came: Sequence[RecordedMessage], start: datetime) -> Iterator[SignalDocument]:
    """Yield the signals of the team itself, with their times."""
    for message in came:
        if message.kind == "signal" and message.name not in (*_DECISIONS, "pause", "resume"):
            yield SignalDocument(
                signal=message.name, payload=message.payload, after=whole_seconds(message.at, start)
            )


def recorded_pauses(came: Sequence[RecordedMessage], start: datetime) -> Iterator[PauseDocument]:
    """Yield each pause up to the resume that followed it."""
    since: RecordedMessage | None = None
    for message in came:
        if message.kind != "signal" or message.name not in ("pause", "resume"):
            continue
        if message.name == "pause" and since is None:
            since = message
        elif message.name == "resume" and since is not None:
            asked = json_of(since)
            yield PauseDocument(
                lasts=whole_seconds(message.at, since.at),
                after=whole_seconds(since.at, start),
                by=str(asked.get("by") or "unknown"),
                why=str(asked.get("why") or ""),
            )
            since = None


def recorded_amendments(
    came: Sequence[RecordedMessage], start: datetime
) -> Iterator[AmendmentDocument]:
    """Yield the amendments of the context, with their times."""
    for message in came:
        if message.kind == "update" and message.name == "amend":
            asked = json_of(message)
            yield AmendmentDocument.model_validate(
                {**asked, "after": whole_seconds(message.at, start)}
            )


def recorded_redirects(
    came: Sequence[RecordedMessage], start: datetime
) -> Iterator[RedirectDocument]:
    """Yield the redirects to other teams, with their times."""
    for message in came:
        if message.kind == "update" and message.name == "redirect":
            asked = json_of(message)
            yield RedirectDocument.model_validate(
                {**asked, "after": whole_seconds(message.at, start)}
            )


def recorded_skips(received: Sequence[ReceivedMessage], start: datetime) -> Iterator[SkipDocument]:
    """Yield skips of tasks that did not wait for a person; others are decisions."""
    for message in received:
        said = message.said
        if message.name == "skip" and isinstance(said, dict) and not message.changed:
            yield SkipDocument.model_validate({**said, "after": whole_seconds(message.at, start)})


def whole_seconds(moment: datetime, since: datetime) -> float:
    """Return the whole seconds between two times; fractions vary."""
    return float(int((moment - since).total_seconds()))
