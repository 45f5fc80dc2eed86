"""Read the runs of a server, newest first and within bounds, and count what they did."""

from datetime import UTC, datetime

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus
from temporalio.service import RPCError

from coterie.failures import CommandError, ExitCode
from coterie.inspection.stats_counter import CountedRun, StatsCounter, strategies_of
from coterie.logs import quietly
from coterie.rendering.stats_text import StatsPart, stats_json, stats_text
from coterie.replay.rebuilt_run import Rebuilt, joined_trails, rebuilt
from coterie.runs.histories.history_events import started
from coterie.runs.histories.history_links import links
from coterie.runs.histories.recorded_calls import RecordedCall, recorded_calls
from coterie.runs.histories.recorded_plans import started_name
from coterie.runs.run_client import Run
from coterie.runs.run_list import RunFilter
from coterie.runs.stats_report import StatsReport
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import say
from coterie.workflows.core.views import TrailEntry

MAX_EVENTS = 200_000
"""Events of all histories that one call reads; replaying them takes a minute or two."""


async def show_stats(
    settings: Settings,
    part: StatsPart | None,
    wanted: RunFilter,
    limit: int,
    *,
    as_json: bool,
) -> ExitCode:
    """Print the statistics of the server's runs, as tables or as JSON."""
    quietly(settings)
    client = (await open_connection(settings)).client
    report = await read_stats(client, wanted, limit)
    say(stats_json(report) if as_json else stats_text(report, part))
    return ExitCode.DONE


async def read_stats(client: Client, wanted: RunFilter, limit: int) -> StatsReport:
    """Count what the newest runs did.

    Args:
        client: Of the server.
        wanted: Which runs; of its states, `open` and `closed` alone need no worker.
        limit: Maximum number of runs.

    Raises:
        CommandError: The server does not answer.
    """
    now = datetime.now(UTC)
    counter, unreadable, more = StatsCounter(), list[str](), False
    try:
        async for execution in client.list_workflows(wanted.query(now)):
            if counter.runs + len(unreadable) >= limit or counter.events >= MAX_EVENTS:
                more = True
                break
            try:
                name = await _plan_name(client, execution)
                if wanted.team not in (None, name):
                    continue
                counter.add(await _count_run(client, execution, name, now))
            except CommandError:
                unreadable.append(execution.id)
    except RPCError as error:
        raise CommandError(f"could not list runs: {error.message}") from None
    return counter.report(more=more, unreadable=unreadable)


async def _plan_name(client: Client, execution: WorkflowExecution) -> str:
    """Return the team or document that was started, as `coterie runs` names it."""
    described = await Run(client, execution.id).describe()
    return await started_name(client, described)


async def _count_run(
    client: Client, execution: WorkflowExecution, name: str, now: datetime
) -> CountedRun:
    """Read and replay the histories of a run."""
    trails: list[tuple[TrailEntry, ...]] = []
    calls: list[RecordedCall] = []
    began: datetime | None = None
    events, followed = 0, True
    strategies: frozenset[tuple[str, str]] = frozenset()
    async for history in links(client, execution.id):
        began = began or started(history).at
        events += len(history.events)
        calls += recorded_calls(history)
        seen = await rebuilt(history)
        if isinstance(seen, Rebuilt):
            trails.append(seen.trail)
            strategies |= strategies_of(seen.plan)
        else:
            followed = False
    over = execution.close_time is not None
    taken = (execution.close_time or now) - (began or execution.start_time)
    return CountedRun(
        plan=name,
        over=over,
        completed=execution.status == WorkflowExecutionStatus.COMPLETED,
        seconds=taken.total_seconds(),
        strategies=strategies,
        trail=joined_trails(*trails),
        calls=calls,
        events=events,
        followed=followed,
    )
