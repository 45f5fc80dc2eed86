"""A stream says each event of a run once and in order, wherever a client was cut off."""

import asyncio
import json
from contextlib import AsyncExitStack
from random import Random
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionDescription

from coterie.gateway.streams import followers
from coterie.gateway.streams.cursors import Cursor, parse_joint
from coterie.gateway.streams.event_stream import EventStream, StreamRequest
from coterie.gateway.streams.older_rows import MAX_EVENT, rows_before
from coterie.gateway.streams.stream_hub import StreamHub
from tests.support.event_reading import Message, parsed
from tests.support.recorded_pages import RecordedPages, SeveralRuns, chains, reset_at

RUN = "recorded"
LONG = ("long", "tool_agent_long", "parked_batches", "begun_branches", "session")
_TASKS = (
    EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
)


def cursors(pages: RecordedPages) -> list[str]:
    """All positions that a stream must pass, by the histories themselves."""
    first = next(iter(pages.histories))
    return [
        str(Cursor(first, run_id, event.event_id))
        for run_id, events in pages.histories.items()
        for event in events
        if event.event_type not in _TASKS
    ]


def hub_of(pages: RecordedPages) -> StreamHub:
    return StreamHub(pages)


async def read(hub: StreamHub, request: StreamRequest, count: int) -> list[Message]:
    """Read so many events of a stream, then leave."""
    found: list[Message] = []
    messages = EventStream(hub, request).messages()
    async with asyncio.timeout(20), AsyncExitStack() as stack:
        stack.push_async_callback(messages.aclose)
        async for message in parsed(messages):
            if message.event == "history":
                found.append(message)
            if len(found) == count:
                break
    return found


@pytest.mark.parametrize("name", chains())
async def test_a_stream_says_every_event_once_and_in_order(name: str) -> None:
    pages = RecordedPages.of(name)
    expected = cursors(pages)
    hub = hub_of(pages)
    found = await read(hub, StreamRequest((RUN,), whole=True), len(expected))
    await hub.close()
    assert [message.id for message in found] == expected
    assert [message.data["cursor"] for message in found] == expected


@pytest.mark.parametrize("name", LONG)
async def test_a_client_that_comes_back_gets_exactly_the_rest(name: str) -> None:
    pages = RecordedPages.of(name)
    expected = cursors(pages)
    hub = hub_of(pages)
    for place in range(0, len(expected) - 1, 7):
        after = {0: Cursor.parse(expected[place])}
        rest = expected[place + 1 :]
        found = await read(hub, StreamRequest((RUN,), after), len(rest))
        assert [message.id for message in found] == rest
    await hub.close()


@pytest.mark.parametrize("seed", range(4))
async def test_a_growing_run_is_followed_through_tasks_that_are_not_recorded(seed: int) -> None:
    """The ids of such tasks are given to other events later: no cursor may stand on them."""
    pages, random = RecordedPages.of("long", seed), Random(seed)
    expected = cursors(pages)
    pages.begin()
    hub = hub_of(pages)

    async def grow() -> None:
        while pages.grow(random.randint(1, 4)):  # noqa: ASYNC110  # between the steps of others
            await asyncio.sleep(0)

    growing = asyncio.create_task(grow())
    found: list[str] = []
    while len(found) < len(expected):
        after = {0: Cursor.parse(found[-1])} if found else {}
        count = min(random.randint(1, 9), len(expected) - len(found))
        some = await read(hub, StreamRequest((RUN,), after, whole=True), count)
        found += [message.id for message in some]
    await growing
    await hub.close()
    assert found == expected


def after_reset() -> tuple[RecordedPages, list[str]]:
    """A run of two histories whose second one was reset, and the positions of its stream."""
    parts = chains()["session"]
    first, second, third = (f"00000000-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))
    point = next(
        event.event_id
        for event in parts[1]
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED
    )
    again = [*reset_at(parts[1], point, (second, third)), *parts[1][point + 1 :]]
    pages = RecordedPages({first: parts[0], second: parts[1], third: again}, first)
    expected = [
        text
        for text in cursors(pages)
        if Cursor.parse(text).run != third or Cursor.parse(text).event > point
    ]
    for event in again:  # a history repeats the start of the one that it was reset from
        if event.HasField("workflow_execution_started_event_attributes"):
            event.workflow_execution_started_event_attributes.original_execution_run_id = second
    return pages, expected


async def test_a_reset_run_goes_on_after_all_events_of_its_base() -> None:
    pages, expected = after_reset()
    hub = hub_of(pages)
    found = await read(hub, StreamRequest((RUN,), whole=True), len(expected))
    resets = [message.data for message in found if message.data["type"] == "reset"]
    assert [message.id for message in found] == expected
    assert [reset["base"] for reset in resets] == ["00000000-0000-4000-8000-000000000002"]
    for place in range(0, len(expected) - 1, 5):
        after = {0: Cursor.parse(expected[place])}
        rest = await read(hub, StreamRequest((RUN,), after), len(expected) - place - 1)
        assert [message.id for message in rest] == expected[place + 1 :]
    await hub.close()


async def test_a_reset_run_has_its_own_events_when_its_base_is_deleted() -> None:
    pages, _ = after_reset()
    first, second, third = pages.histories
    pages.known.remove(second)
    hub = hub_of(pages)
    expected = [one for one in cursors(pages) if Cursor.parse(one).run != second]
    found = await read(hub, StreamRequest((RUN,), whole=True), len(expected))
    await hub.close()
    older = await rows_before(pages, RUN, Cursor(first, third, MAX_EVENT), 10_000)
    assert [message.id for message in found] == expected
    assert [str(row.cursor) for row in older.rows] == expected


@pytest.mark.parametrize("count", [1, 7, 10_000])
@pytest.mark.parametrize("name", LONG)
async def test_older_events_are_read_backwards_to_the_start(name: str, count: int) -> None:
    pages = RecordedPages.of(name)
    expected = cursors(pages)
    position, found = Cursor.parse(expected[-1]), list[str]()
    for _ in range(1000 if count > 1 else 20):
        older = await rows_before(pages, RUN, position, count)
        found[:0] = [str(row.cursor) for row in older.rows]
        if older.is_whole:
            break
        position = older.rows[0].cursor
    assert found == expected[:-1][-len(found) :]
    assert count == 1 or len(found) == len(expected) - 1


async def test_an_event_is_the_same_however_a_client_comes_to_it() -> None:
    pages = RecordedPages.of("tool_agent_long")
    hub = hub_of(pages)
    expected = cursors(pages)
    forwards = await read(hub, StreamRequest((RUN,), whole=True), len(expected))
    await hub.close()
    latest = Cursor.parse(expected[-1])
    older = await rows_before(pages, RUN, latest, 10_000, inclusive=True)
    assert [json.loads(row.data) for row in older.rows] == [one.data for one in forwards]


async def test_several_runs_share_a_stream_and_come_back_by_one_cursor() -> None:
    names = ("long", "session")
    pages = {name: RecordedPages.of(name) for name in names}
    hub = StreamHub(SeveralRuns(pages))
    expected = {name: cursors(pages[name]) for name in names}
    total = sum(map(len, expected.values()))
    whole = await read(hub, StreamRequest(names, whole=True, is_joint=True), total)
    for place in range(0, total - 1, 9):
        after = parse_joint(whole[place].id, 2)
        found = [*whole[: place + 1]]
        found += await read(hub, StreamRequest(names, after, is_joint=True), total - place - 1)
        for name in names:
            of_run = [message.data["cursor"] for message in found if message.data["run"] == name]
            assert of_run == expected[name]
    await hub.close()


async def test_more_runs_than_polls_are_followed_by_turns() -> None:
    names = LONG
    pages = {name: RecordedPages.of(name) for name in names}
    for one in pages.values():
        one.begin()
    hub = StreamHub(SeveralRuns(pages), max_polls=2, turn_seconds=0.01)
    expected = {name: cursors(pages[name]) for name in names}
    total = sum(map(len, expected.values()))
    request = StreamRequest(names, whole=True, is_joint=True)
    reading = asyncio.create_task(read(hub, request, total))
    for one in (pages[name] for name in reversed(names)):
        while one.grow(5):  # noqa: ASYNC110  # between the steps of others
            await asyncio.sleep(0)
    found = await reading
    await hub.close()
    for name in names:
        seen = [message.data["cursor"] for message in found if message.data["run"] == name]
        assert seen == expected[name]


async def test_a_stream_says_which_calls_a_run_no_longer_waits_for() -> None:
    pages = RecordedPages.of("abandoned_branches")
    left = {
        event.activity_task_cancel_requested_event_attributes.scheduled_event_id
        for events in pages.histories.values()
        for event in events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED
    }
    hub = hub_of(pages)
    found = await read(hub, StreamRequest((RUN,), whole=True), len(cursors(pages)))
    await hub.close()
    said = [message.data for message in found if message.data["type"] == "call_left"]
    assert left
    assert {str(data["scheduled"]) for data in said} == set(map(str, left))
    assert all(data["call"] for data in said)
    assert all(data["step"] for data in said)


class DescribedPages(RecordedPages):
    """Pages that count how often the calls in progress are looked at."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.looks: asyncio.Queue[str] = asyncio.Queue()

    async def describe(self, run: str) -> WorkflowExecutionDescription:
        self.looks.put_nowait(run)
        return await super().describe(run)


async def test_the_calls_are_looked_at_as_soon_as_a_client_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(followers, "_CALL_SECONDS", 3_600.0)
    pages = DescribedPages.of("tool_agent")
    pages.begin()
    hub = StreamHub(pages)
    async with asyncio.timeout(20):
        async with hub.following(RUN, asyncio.Event()) as follower:
            while not follower.names:
                pages.grow(1)
                await asyncio.sleep(0.01)  # until it has read the event
            await pages.looks.get()
        async with hub.following(RUN, asyncio.Event()) as again:
            assert again is follower
            assert await pages.looks.get() == RUN
        await hub.close()
