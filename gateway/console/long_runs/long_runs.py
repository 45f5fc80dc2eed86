"""Read what the pages of long runs show: each part once, for all who look at a run."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import quote

from coterie.dsl.model.plan import Plan
from coterie.explaining.origins import Effective
from coterie.failures import CommandError
from coterie.gateway.console.long_runs.long_run_page import LongRunFacts, long_run_page
from coterie.gateway.console.long_runs.newest_calls import NewestCalls, calls_before
from coterie.gateway.console.long_runs.reported_state import Report, ReportedStates
from coterie.gateway.console.long_runs.run_extent import RunExtent, RunExtents
from coterie.gateway.console.plan_outline import values_of_document
from coterie.gateway.console.run_page import (
    HistoryLink,
    LongRun,
    PartOfRun,
    RunInput,
    RunPage,
    input_of,
    run_page,
)
from coterie.gateway.endpoints import API
from coterie.gateway.identity.console_address import run_url
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.timelines.bars import Timeline, draw_bars
from coterie.inspection.followed_run import FollowedRun
from coterie.replay.rebuilt_run import NotFollowed, rebuilt
from coterie.runs.ends.end_facts import CLOSED_STATES, RunEnd
from coterie.runs.histories.history_events import read_event, started
from coterie.runs.histories.recorded_plans import beginning_of, recorded_plan
from coterie.runs.run_workspaces import workspace_of_run

_MAX_KEPT = 24
_END_SECONDS = 3.0
_PICTURE_SECONDS = 20.0
"""How long a page without script waits for the whole run."""

Key = TypeVar("Key")
Value = TypeVar("Value")


def not_followed(run: str, reason: NotFollowed) -> Rejection:
    """Return why a run has no page."""
    if not reason.has_begun:
        return Rejection(
            503,
            "not_begun",
            f"no worker has taken up the run {run!r} yet",
            "It begins as soon as a worker serves its task queue: `coterie worker`.",
        )
    return Rejection(
        409,
        "other_version",
        f"another version of Coterie ran {run!r}, which this one cannot follow ({reason.cause})",
        "Open it in the console of that version.",
    )


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What never changes in a run."""

    plan: Plan
    values: Sequence[Effective] | None
    input: RunInput


class LongRuns:
    """The pages of long runs."""

    def __init__(self, access: RunAccess) -> None:
        """Take the runs, and the project."""
        self._access = access
        self._extents = RunExtents(access.pages)
        self._states = ReportedStates()
        self._beginnings: OrderedDict[tuple[str, str], _Beginning] = OrderedDict()
        self._calls: OrderedDict[tuple[str, int, str], NewestCalls] = OrderedDict()

    async def extent(self, found: FoundRun) -> RunExtent:
        """Return the histories of a run; raises CommandError."""
        return await self._extents.extent(found)

    async def page(
        self, found: FoundRun, extent: RunExtent, *, before: str = "", draws: bool = False
    ) -> RunPage:
        """Return the page of a long run.

        Args:
            found: The run.
            extent: Its histories.
            before: The cursor before which its calls are shown; empty for the newest end.
            draws: Whether to draw the whole run, for a browser without script.

        Raises:
            CommandError: The run cannot be read, or not yet.
        """
        run, now = found.run, datetime.now(UTC)
        version = (found.description.run_id, found.description.history_length)
        beginning = await self._beginning(found, extent)
        end = None if found.is_open else await _end(found)
        report = await self._states.report(run, version)
        calls = await self._newest(run.id, (*version, before), now)
        facts = LongRunFacts(
            run=run.id,
            plan=beginning.plan,
            values=beginning.values,
            input=beginning.input,
            began=extent.histories[0].began,
            ended=found.description.close_time,
            now=now,
            end=end,
            report=report,
            calls=calls.timeline,
            workspace=workspace_of_run(self._access.settings, run.id),
        )
        drawn = await self._whole(run.id) if draws else None
        long = _links(run.id, extent, calls, before, report, drawn)
        return await asyncio.to_thread(long_run_page, facts, long)

    async def _beginning(self, found: FoundRun, extent: RunExtent) -> _Beginning:
        access, run = self._access, found.run.id
        key = (extent.histories[0].run_id, found.description.run_id)
        if key not in self._beginnings:
            oldest = await beginning_of(access.client, run, extent.histories[0].run_id)
            latest = await beginning_of(access.client, run, found.description.run_id)
            plan = None if latest is None else recorded_plan(latest)
            if oldest is None or plan is None:
                raise not_followed(run, NotFollowed("it has no plan", has_begun=latest is None))
            values = await asyncio.to_thread(values_of_document, access.settings, plan)
            _keep(self._beginnings, key, _Beginning(plan, values, input_of(started(oldest).input)))
        return self._beginnings[key]

    async def _newest(self, run: str, key: tuple[str, int, str], now: datetime) -> NewestCalls:
        if key not in self._calls:
            found = await calls_before(self._access.pages, run, key[2], now)
            _keep(self._calls, key, found)
        return self._calls[key]

    async def _whole(self, run: str) -> Timeline:
        read = await self._access.timelines.timeline(run, _PICTURE_SECONDS)
        if not read.is_whole:
            raise reading(run, f"{read.read:,} of {read.events:,} events")
        return await asyncio.to_thread(draw_bars, read.began, read.ended, read.bars)

    async def part(self, found: FoundRun, extent: RunExtent, run_id: str) -> RunPage:
        """Return the whole page of one history of a run; raises like `page`."""
        run = found.run
        numbers = {history.run_id: at for at, history in enumerate(extent.histories, 1)}
        if run_id not in numbers:
            raise Rejection(
                404,
                "unknown_path",
                f"the run {run.id!r} has no history {run_id!r}",
                "The page of the run lists its histories.",
            )
        async with self._access.replays:
            history = await run.history(run_id)
            followed = await rebuilt(history)
        if isinstance(followed, NotFollowed):
            raise not_followed(run.id, followed)
        last = read_event(history.events[-1]).at
        number, count = numbers[run_id], len(numbers)
        is_over = number < count
        recorded = FollowedRun((history,), (followed,))
        values = await asyncio.to_thread(values_of_document, self._access.settings, followed.plan)
        now = last if is_over else datetime.now(UTC)
        page = await asyncio.to_thread(
            run_page, recorded, now, values, workspace_of_run(self._access.settings, run.id)
        )
        if number > 1:
            page = replace(page, input=RunInput(f"history {number - 1}", None), lost="")
        if is_over:
            page = replace(page, state="continued", tone="good", because="", ended=last)
        return replace(page, part=PartOfRun(run_id, number, count, run_url(run.id)))


def reading(run: str, progress: str) -> Rejection:
    """Return that a history is still being read."""
    return Rejection(
        503,
        "reading",
        f"older events of the run {run!r} are being read ({progress})",
        "The page comes as soon as they are: it asks again by itself.",
    )


async def _end(found: FoundRun) -> RunEnd | None:
    """Return how a run ended; its result is in its history, except that of a cancelled run."""
    try:
        async with asyncio.timeout(_END_SECONDS):
            return await found.run.end()
    except (CommandError, TimeoutError):
        status = found.description.status
        state = None if status is None else CLOSED_STATES.get(status)
        return None if state is None else RunEnd(state)


def _links(
    run: str,
    extent: RunExtent,
    calls: NewestCalls,
    before: str,
    report: Report,
    drawn: Timeline | None,
) -> LongRun:
    url = run_url(run)
    histories = tuple(
        HistoryLink(number, f"{url}?history={history.run_id}", history.began, history.events)
        for number, history in enumerate(extent.histories, 1)
    )
    return LongRun(
        events=extent.events,
        histories=histories[::-1],
        answered=None if report.state is None else report.state.at,
        refusal=report.refusal,
        entries=0,
        older=f"{url}?before={quote(calls.before)}" if calls.before else "",
        newest=url if before else "",
        bars=f"{API}{url}/timeline",
        drawn=drawn,
    )


def _keep(kept: "OrderedDict[Key, Value]", key: Key, value: Value) -> None:
    kept[key] = value
    while len(kept) > _MAX_KEPT:
        kept.popitem(last=False)
