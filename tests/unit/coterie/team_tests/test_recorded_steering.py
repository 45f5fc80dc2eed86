"""What people did to a recorded run, as the entries of a test: pauses, signals, a cancellation."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from coterie.dsl.values import Json, JsonValue
from coterie.replay.observed_replay import ReceivedMessage
from coterie.runs.histories.exchanges import Exchange
from coterie.runs.histories.history_events import read_event
from coterie.runs.histories.recorded_events import CancelRequested, SignalReceived, UpdateAccepted
from coterie.runs.histories.recorded_values import RecordedValue
from coterie.storage.wire import data_converter
from coterie.testing.files.case_document import (
    MessageDocument,
    PauseDocument,
    SayDocument,
    SignalDocument,
)
from coterie.testing.recording.recorded_steering import (
    message_document,
    recorded_pauses,
    recorded_says,
    recorded_signals,
)

START = datetime(2026, 1, 2, tzinfo=UTC)


def signal(name: str, seconds: float, payload: JsonValue = None) -> SignalReceived:
    value = RecordedValue(data_converter.payload_converter.to_payloads([payload]))
    return SignalReceived(1, START + timedelta(seconds=seconds), name, value)


def update(name: str) -> UpdateAccepted:
    return UpdateAccepted(1, START, name, RecordedValue(), "u", "u")


ANN: Json = {"by": "ann", "why": "lunch"}


def test_a_pause_lasts_from_its_signal_to_the_next_resume() -> None:
    came = [
        signal("resume", 1),
        update("pause"),
        signal("go", 2),
        signal("pause", 3.9, ANN),
        signal("pause", 5, {"by": "ben"}),
        signal("go", 6),
        update("resume"),
        signal("resume", 9),
        signal("resume", 10),
        signal("pause", 20),
        signal("resume", 21),
        signal("pause", 30),
    ]
    assert list(recorded_pauses(came, START)) == [
        PauseDocument(lasts=5, after=3, by="ann", why="lunch"),
        PauseDocument(lasts=1, after=20, by="unknown", why=""),
    ]
    assert list(recorded_signals(came, START)) == [
        SignalDocument(signal="go", after=2),
        SignalDocument(signal="go", after=6),
    ]


def test_a_cancellation_is_a_message_from_outside() -> None:
    cancelled = HistoryEvent(event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED)
    cancelled.event_time.FromDatetime(START)
    assert read_event(cancelled) == CancelRequested(0, START)


def test_what_a_person_says_is_recorded_from_the_beginning_of_its_step() -> None:
    at, since = START + timedelta(seconds=5.26), START + timedelta(seconds=3)
    content: Json = {"text": "Hurry.", "by": "ann"}
    received = [
        ReceivedMessage("say", content, at, (), "t/s", since),
        ReceivedMessage("say", {"text": "Go."}, at, (), "t/s"),
        ReceivedMessage("skip", {"task": "t/s"}, at, ()),
        ReceivedMessage("say", None, at, ()),
    ]
    assert list(recorded_says(received, START)) == [
        SayDocument(text="Hurry.", step="t/s", by="ann", during="t/s", after=2.3),
        SayDocument(text="Go.", step="t/s", by="unknown", after=5.3),
    ]


LONG = "x" * 299


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({}, {"by": "unknown"}),
        ({"by": "ann", "idle_seconds": 0.9}, {"by": "ann"}),
        ({"idle_seconds": 2.7}, {"by": "unknown", "after": 2}),
        ({"code": "QueueFull", "answered": True}, {"by": "unknown", "refused": "QueueFull"}),
        ({"answered": True, "reply": "yes"}, {"by": "unknown", "reply": "yes"}),
        ({"answered": True}, {"by": "unknown", "reply": None}),
        ({"answered": True, "reply": {"a": 1}}, {"by": "unknown", "reply": {"equals": {"a": 1}}}),
        ({"answered": True, "reply": LONG[:298]}, {"by": "unknown", "reply": LONG[:298]}),
        ({"answered": True, "reply": LONG}, {"by": "unknown", "reply": {"exists": True}}),
    ],
)
def test_a_message_is_recorded_with_its_reply_or_its_refusal(
    given: dict[str, Any], fields: Json
) -> None:
    one = message_document(Exchange("1", given.get("by", ""), "hi")._replace(**given))
    assert one == MessageDocument.model_validate({"message": "hi"} | fields)
    assert one.model_fields_set == {"message", *fields}
