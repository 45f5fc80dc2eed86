"""A stream of AG-UI says each event once, wherever its client was cut off."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest
from ag_ui.core import UserMessage

from coterie.activities.contracts import LiveTail
from coterie.gateway.doors.agui.agui_events import sent_event
from coterie.gateway.doors.agui.agui_inputs import AguiInput
from coterie.gateway.doors.agui.agui_stream import AguiClient, AguiStream
from coterie.gateway.doors.agui.agui_threads import ThreadRun
from coterie.gateway.doors.agui.history_feed import PlacedEvent
from coterie.gateway.doors.agui.live_pieces import live_events
from coterie.gateway.doors.agui.open_work import OpenWork, UnfinishedCall
from coterie.gateway.doors.agui.run_messages import RunMessages
from coterie.gateway.doors.agui.run_translation import MessageAnswered, RunTranslation
from coterie.gateway.doors.agui.stream_positions import Position
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.stream_hub import StreamHub
from coterie.runs.histories import recorded_events as recorded
from coterie.runs.histories.recorded_values import RecordedFailure, RecordedValue
from coterie.runs.live_texts import LiveAnswer
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import SEND_MESSAGE
from coterie.workflows.core.requests import NOT_YET
from tests.support.gateway import ALL
from tests.support.recorded_pages import RecordedPages
from tests.support.watching.agui_reading import AguiEvent, AguiReader, events_in, read_all

RUN = "recorded"
RUN_ID = "00000000-0000-4000-8000-000000000001"
ASKED = AguiInput("thread", RUN, None, {}, (), ())


RECORDED = (
    *("tool_agent", "tool_agent_long", "nested_grants", "egress", "local_tools", "begun_branches"),
    *("equal_tool_calls", "retried_tools", "unusable_turns", "long"),
)
"""Runs with agents in agents, tools, failures, branches, and several histories."""


async def stream(
    pages: RecordedPages, position: Position | None = None, *, is_new: bool = True
) -> list[AguiEvent]:
    """What a client of a run that has ended gets."""
    hub = StreamHub(pages)
    client = AguiClient(ALL, ASKED, ThreadRun(RUN, is_new=is_new), position)
    access = cast("RunAccess", None)  # a run that has ended is asked nothing
    found = await read_all(AguiStream(hub, access, client).messages())
    await hub.close()
    return found


@pytest.mark.parametrize("name", RECORDED)
async def test_a_recorded_run_is_a_valid_run_of_ag_ui_wherever_it_is_cut(name: str) -> None:
    pages = RecordedPages.of(name)
    whole = await stream(pages)
    reader = AguiReader().take(whole)
    assert reader.last["type"] in ("RUN_FINISHED", "RUN_ERROR")
    assert len({event.id for event in whole[:-1]}) == len(whole) - 1, "each id is one position"
    for place in range(0, len(whole) - 1, 1 + len(whole) // 10):
        rest = await stream(pages, Position.parse(whole[place].id))
        assert [it.data for it in rest] == [it.data for it in whole[place + 1 :]]
    late = AguiReader().take(await stream(pages, is_new=False))
    assert (late.state, late.last) == (reader.state, reader.last)
    assert without_owners(late.messages) == reader.messages


def without_owners(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in message.items() if key != "subagentRunId"}
        for message in messages
    ]


def live_pieces(answers: list[tuple[int, str]], position: Position) -> list[AguiEvent]:
    """What a client gets while a model writes: `(attempt, text so far)` of one call."""
    work, messages = OpenWork(), RunMessages([UserMessage(id="asked", content="Is 7 paid?")])
    list(work.begin(5, UnfinishedCall("0001.act/1", "turn", "work/act", RUN_ID, is_said=True)))
    found: list[AguiEvent] = []
    for attempt, text in answers:
        answer = LiveAnswer("0001.act/1", "work/act", LiveTail(attempt=attempt, text=text))
        for event, after in live_events(work, messages, [answer], position):
            position = after
            found += events_in(sent_event(event, str(after)).decode())
    return found


def test_the_text_of_a_lost_attempt_is_replaced_wherever_its_client_was_cut() -> None:
    """The first worker dies amid its answer; the next one writes another."""
    said = [
        (1, "Number "),
        (1, "Number 7 was"),
        (2, "It is "),
        (1, "Number 7 was"),
        (2, "It is paid."),
    ]
    start = Position(Cursor(RUN_ID, RUN_ID, 6))
    whole = live_pieces(said, start)
    opened = AguiEvent("", {"type": "RUN_STARTED"})
    reader = AguiReader().take([opened, *whole])
    assert [it["content"] for it in reader.messages] == ["Is 7 paid?", "It is paid."]
    ids = [event.data["messageId"] for event in whole if event.type == "TEXT_MESSAGE_START"]
    assert len(set(ids)) == 2
    assert [event.type for event in whole].count("MESSAGES_SNAPSHOT") == 1
    for place, event in enumerate(whole):
        rest = live_pieces(said[-1:], Position.parse(event.id))
        again = AguiReader().take([opened, *whole[: place + 1]])
        again.take(rest)
        assert [it["content"] for it in again.messages] == ["Is 7 paid?", "It is paid."]
        assert again.open == reader.open == {("text", ids[-1])}


def test_a_message_that_a_run_leaves_when_it_continues_as_new_is_answered_once_in_the_next() -> (
    None
):
    messages = RunMessages(())
    translation = RunTranslation(messages, "m1", is_session=True)
    translation.is_read = True
    at = datetime(2026, 1, 1, tzinfo=UTC)
    reply = RecordedValue(tuple(data_converter.payload_converter.to_payloads(["Hello."])))
    later = RUN_ID.replace("1", "2")
    leaves = RecordedFailure(NOT_YET, "the run continues with a new history")
    events = [
        (RUN_ID, recorded.UpdateAccepted(5, at, SEND_MESSAGE, RecordedValue(), "m1", "s1")),
        (RUN_ID, recorded.UpdateCompleted(8, at, 5, "m1", None, leaves)),
        (RUN_ID, recorded.ContinuedAsNew(9, at, RecordedValue(), later)),
        (later, recorded.UpdateAccepted(4, at, SEND_MESSAGE, RecordedValue(), "m1", "s2")),
        (later, recorded.UpdateCompleted(7, at, 4, "m1", reply, None)),
    ]
    told: list[str] = []
    for run, event in events:
        assert translation.ending is None
        cursor = Cursor(RUN_ID, run, event.id)
        found = translation.events(PlacedEvent(cursor, event), Position(cursor))
        told += [one.type.value for one in found]
    assert translation.ending == MessageAnswered("Hello.")
    assert told == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    assert messages.last_text == "Hello."
