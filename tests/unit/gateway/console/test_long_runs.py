"""Long runs: the newest end of their calls, what they say of themselves, work done once."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise
from typing import cast

import pytest
from temporalio.client import WorkflowExecutionDescription

from coterie.failures import CommandError
from coterie.gateway.console.forms.run_actions import run_actions
from coterie.gateway.console.long_runs import reported_state
from coterie.gateway.console.long_runs.long_run_page import (
    visits_of,
)
from coterie.gateway.console.long_runs.newest_calls import calls_before
from coterie.gateway.console.long_runs.page_tasks import SharedWork
from coterie.gateway.console.long_runs.reported_state import Report, ReportedState, ReportedStates
from coterie.gateway.console.long_runs.run_extent import RunExtents
from coterie.gateway.operations.run_access import FoundRun
from coterie.gateway.timelines.bars import Bar
from coterie.gateway.timelines.run_timelines import RunTimelines
from coterie.inspection.trace import trace_of
from coterie.runs.run_client import Run
from tests.support.recorded_pages import RecordedPages, chains
from tests.unit.gateway.console.pages import long_page, recorded
from tests.unit.gateway.console.test_served_pages import ALL, shown, text_in

LONG = ("long", "tool_agent_long", "parked_batches", "begun_branches")
NOW = datetime(2126, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize("name", LONG)
async def test_older_calls_follow_on_demand_until_all_are_shown(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coterie.gateway.console.long_runs.newest_calls.ROWS", 4)
    pages = RecordedPages.of(name)
    whole = await RunTimelines(pages).timeline("run", 20)
    ends = {events[-1].event_time.ToDatetime(UTC) for events in chains()[name]}
    left = {end.replace(microsecond=end.microsecond // 1000 * 1000) for end in ends}
    """When histories ended: with the calls that they left in progress."""
    found: list[Bar] = []
    before, is_first = "", True
    while before or is_first:
        calls = await calls_before(pages, "run", before, NOW)
        found += [drawn.bar for drawn in calls.timeline.bars]
        before, is_first = calls.before, False

    def ended(bars: Iterable[Bar]) -> list[tuple[str, datetime]]:
        return sorted((bar.label, bar.began) for bar in bars if bar.ended not in (None, *left))

    assert ended(found) == ended(whole.bars)
    assert len(found) > 4


async def test_the_extent_of_a_run_is_that_of_all_its_histories() -> None:
    pages = RecordedPages.of("long")
    latest = await pages.latest("run")

    class Described:
        run_id, history_length, start_time = latest.run_id, latest.events, latest.began

    described = cast("WorkflowExecutionDescription", Described)
    found = FoundRun(cast("Run", type("Named", (), {"id": "run"})), "team", described)
    extents = RunExtents(pages)
    extent = await extents.extent(found)
    assert [history.events for history in extent.histories] == [
        len(events) for events in chains()["long"]
    ]
    assert all(one.began <= two.began for one, two in pairwise(extent.histories))
    before = pages.requests
    await extents.extent(found)
    assert pages.requests == before, "an earlier history never grows"


async def test_visits_of_the_newest_entries_are_those_of_the_whole_trail() -> None:
    trace = trace_of(await recorded("tool_agent"))
    visits = visits_of(trace.trail)
    assert [(visit.name, visit.began, visit.came_because, visit.ended, visit.because)
            for visit in visits] == [
        (visit.name, visit.began, visit.came_because, visit.ended, visit.because)
        for visit in trace.visits if visit.status != "left"
    ]  # fmt: skip


async def a_page(report: Report) -> str:
    """The text of the page of a long run that is open."""
    page = await long_page(report)
    tree = shown("run.html", page, run_actions(page, "x", ALL))
    assert tree.xpath("//a[@href='/runs/run?before=c#timeline']")
    assert tree.xpath("//a[@href='/runs/run?history=h']/text()") == ["History 1"]
    assert tree.xpath("//noscript//a[@href='?whole=1#whole-run']")
    return text_in(tree)


async def test_a_long_run_that_has_not_answered_shows_its_calls_and_says_so() -> None:
    assert "Asking the run for its totals" in await a_page(Report())
    refused = await a_page(Report(refusal="no worker answers"))
    assert "The totals are not known: no worker answers" in refused


async def test_a_long_run_shows_what_it_says_of_itself() -> None:
    latest = (await recorded("begun_branches")).latest
    state = ReportedState(NOW, latest.status, latest.cost, (), latest.trail, latest.context)
    text = await a_page(Report(state))
    assert "Asking" not in text
    assert f"The newest of {latest.status.events:,} entries" in text
    assert "Proved bounds" in text


class Silent:
    """A run whose worker answers after a while, or not."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.id = "run"
        self.asked = 0
        self.may_answer = asyncio.Event()
        self._refuses = refuses

    async def status(self) -> None:
        self.asked += 1
        await self.may_answer.wait()
        if self._refuses:
            raise CommandError("no worker answers")
        raise CommandError("it has another form")


async def test_a_page_does_not_wait_for_a_worker_and_asks_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reported_state, "_WAIT_SECONDS", 0.01)
    states, run = ReportedStates(), Silent(refuses=True)
    asked = [states.report(cast("Run", run), ("h", 1)) for _ in range(5)]
    assert await asyncio.gather(*asked) == [Report()] * 5
    assert run.asked == 1
    run.may_answer.set()
    monkeypatch.setattr(reported_state, "_WAIT_SECONDS", 10.0)
    report = await states.report(cast("Run", run), ("h", 1))
    assert report == Report(refusal="no worker answers")


async def test_work_is_shared_and_its_failure_is_told_to_who_comes_back() -> None:
    work, may_end, begun = SharedWork[int](), asyncio.Event(), 0

    async def fail() -> int:
        nonlocal begun
        begun += 1
        await may_end.wait()
        raise CommandError("it failed")

    assert await asyncio.gather(*(work.result("k", fail, 0.01) for _ in range(3))) == [None] * 3
    may_end.set()
    await asyncio.sleep(0.01)
    with pytest.raises(CommandError, match="it failed"):
        await work.result("k", fail, 0.01)
    assert begun == 1
