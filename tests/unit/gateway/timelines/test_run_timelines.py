"""The bars of a whole run: each call once, also while it grows, and none of its events is kept."""

import asyncio
import gc
from collections.abc import Sequence

import pytest
from temporalio.client import WorkflowHistory

from coterie.gateway.operations.run_history import WHOLE, whole_timeline
from coterie.gateway.streams.history_pages import DescribedHistory
from coterie.gateway.streams.run_events import CallEndedEvent
from coterie.gateway.timelines import run_timelines
from coterie.gateway.timelines.bars import Bar
from coterie.gateway.timelines.run_timelines import ReadTimeline, RunTimelines
from coterie.runs.histories.recorded_calls import recorded_calls
from tests.support.recorded_pages import RecordedPages, chains

LONG = ("long", "tool_agent_long", "parked_batches", "begun_branches", "session")
RUN = "recorded"


@pytest.fixture(autouse=True)
def _reads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_timelines, "_FRESH_SECONDS", 0.0)


async def whole(timelines: RunTimelines) -> ReadTimeline:
    async with asyncio.timeout(20):
        while not (read := await timelines.timeline(RUN, 5)).is_whole:
            pass
    return read


def calls_in(bars: Sequence[Bar]) -> list[tuple[str, object]]:
    return [(bar.label, bar.began) for bar in bars if bar.kind in ("turn", "call")]


@pytest.mark.parametrize("name", LONG)
async def test_a_timeline_has_each_call_of_a_run_once(name: str) -> None:
    pages = RecordedPages.of(name)
    read = await whole(RunTimelines(pages))
    recorded = [call for events in chains()[name] for call in
                recorded_calls(WorkflowHistory(RUN, list(events)))]  # fmt: skip
    found = sorted(label for label, _ in calls_in(read.bars))
    assert found == sorted(call.path for call in recorded)
    assert read.read == read.events == sum(map(len, chains()[name]))


@pytest.mark.parametrize("name", LONG)
async def test_a_timeline_that_grew_is_the_one_that_is_read_at_once(name: str) -> None:
    pages = RecordedPages.of(name)
    expected = (await whole(RunTimelines(pages))).bars
    pages.begin()
    growing = RunTimelines(pages)
    await whole(growing)
    while pages.grow(7):
        await whole(growing)
    bars = (await whole(growing)).bars
    assert sorted(bars, key=str) == sorted(expected, key=str)


def kept_events() -> int:
    gc.collect()
    return sum(type(one) is CallEndedEvent for one in gc.get_objects())


async def test_what_is_read_already_is_not_read_again_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_timelines, "_FRESH_SECONDS", 60.0)
    pages, before = RecordedPages.of("long"), kept_events()
    timelines = RunTimelines(pages)
    await asyncio.gather(*(whole(timelines) for _ in range(5)))
    once = pages.requests
    await whole(timelines)
    assert pages.requests == once
    assert kept_events() <= before


async def test_who_does_not_wait_sees_how_far_it_is_read() -> None:
    timelines = RunTimelines(RecordedPages.of("long"))
    read = await timelines.timeline(RUN, 0)
    assert not read.is_whole
    assert read.bars == ()
    await timelines.close()


async def test_columns_say_of_each_bar_where_it_lies() -> None:
    read = await whole(RunTimelines(RecordedPages.of("long")))
    found = whole_timeline(read)
    columns = found.bars
    assert [found.labels[place] for place in columns.label] == [bar.label for bar in read.bars]
    assert {found.kinds[place] for place in columns.kind} == {bar.kind for bar in read.bars}
    assert all(0 <= at <= WHOLE for at in columns.at)
    assert all(at + length <= WHOLE for at, length in zip(columns.at, columns.length, strict=True))
    assert len({len(column) for _, column in columns}) == 1


def session_pages() -> RecordedPages:
    """A server that needs as many requests for each reading."""
    histories = {f"run{number}": part for number, part in enumerate(chains()["session"])}
    return RecordedPages(histories, "run0", size=5)


async def looked_at(timelines: RunTimelines, run: str) -> None:
    """Look at a run again and again until it is whole, as a page does."""
    async with asyncio.timeout(20):
        while not (await timelines.timeline(run, 0.001)).is_whole:
            pass


@pytest.fixture
async def once(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many requests one reading needs; two runs are kept."""
    monkeypatch.setattr(run_timelines, "_FRESH_SECONDS", 60.0)
    monkeypatch.setattr(run_timelines, "_MAX_KEPT", 2)
    pages = session_pages()
    await looked_at(RunTimelines(pages), RUN)
    return pages.requests


async def test_more_runs_than_are_kept_are_each_read_once_while_people_look(once: int) -> None:
    pages = session_pages()
    timelines = RunTimelines(pages)
    await asyncio.gather(*(looked_at(timelines, f"{number}") for number in range(12)))
    await asyncio.gather(*(looked_at(timelines, f"{number}") for number in range(12)))
    assert pages.requests == 12 * once


async def test_only_runs_at_which_nobody_looks_are_dropped_the_oldest_first(
    once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = session_pages()
    timelines = RunTimelines(pages)
    for run in ("oldest", "older", "latest"):
        await looked_at(timelines, run)
    with monkeypatch.context() as later:
        later.setattr(run_timelines, "_LOOKED_SECONDS", 0.0)
        await timelines.timeline("other", 0)
        await timelines.close()
    before = pages.requests
    await looked_at(timelines, "latest")
    assert pages.requests == before == 3 * once
    await looked_at(timelines, "oldest")
    assert pages.requests > before


async def test_a_run_at_which_nobody_looks_any_more_loses_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages = session_pages()
    timelines = RunTimelines(pages)
    with monkeypatch.context() as later:
        later.setattr(run_timelines, "_LOOKED_SECONDS", 0.0)
        assert not (await timelines.timeline(RUN, 5)).is_whole
    assert pages.requests == 0
    await looked_at(timelines, RUN)


async def test_few_runs_are_read_at_once(once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_timelines, "_MAX_READING", 3)
    pages = session_pages()
    most = reading = 0
    history = pages.latest

    async def latest(run: str) -> DescribedHistory:
        nonlocal most, reading
        reading += 1
        most = max(most, reading)
        await asyncio.sleep(0.001)
        reading -= 1
        return await history(run)

    monkeypatch.setattr(pages, "latest", latest)
    timelines = RunTimelines(pages)
    await asyncio.gather(*(looked_at(timelines, f"{number}") for number in range(12)))
    assert (most, pages.requests) == (3, 12 * once)
