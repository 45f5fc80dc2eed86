"""A file that is no history of a run is refused in a sentence, before the engine breaks on it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coterie.failures import CommandError
from coterie.storage.histories import read_history
from tests.support.places import HISTORIES

RECORDED = HISTORIES / "long.0.1.0.json"
Events = list[dict[str, Any]]


def other_type(events: Events) -> None:
    started = events[0]["workflowExecutionStartedEventAttributes"]
    started["workflowType"]["name"] = "Other"


def no_input(events: Events) -> None:
    del events[0]["workflowExecutionStartedEventAttributes"]["input"]


def no_type(events: Events) -> None:
    events[2]["eventType"] = "EVENT_TYPE_UNSPECIFIED"


def headless(events: Events) -> None:
    del events[:5]


def reordered(events: Events) -> None:
    events[3:6] = reversed(events[3:6])


def with_a_hole(events: Events) -> None:
    del events[6]


def empty(events: Events) -> None:
    events.clear()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (other_type, "it is of the workflow 'Other', not of TeamWorkflow"),
        (no_input, "its start has no input"),
        (no_type, "event 3 has no type"),
        (headless, "it does not start with the start of a workflow"),
        (reordered, "event 4 is missing or out of order"),
        (with_a_hole, "event 7 is missing or out of order"),
        (empty, "it has no events"),
    ],
)
def test_a_spoilt_history_is_refused(
    tmp_path: Path, spoil: Callable[[Events], None], message: str
) -> None:
    recorded = json.loads(RECORDED.read_text())
    spoil(recorded["events"])
    file = tmp_path / "spoilt.json"
    file.write_text(json.dumps(recorded))
    with pytest.raises(CommandError, match="is not the history of a run") as refused:
        read_history(file)
    assert message in str(refused.value)


@pytest.mark.parametrize("text", ["", "[]", "5", "{}", "nothing", "[" * 100_000])
def test_reader_refuses_what_is_not_a_history(tmp_path: Path, text: str) -> None:
    file = tmp_path / "none.json"
    file.write_text(text)
    with pytest.raises(CommandError, match="is not the history of a run"):
        read_history(file)


def test_a_recorded_history_is_read() -> None:
    assert len(read_history(RECORDED).events) > 10
