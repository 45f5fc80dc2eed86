"""Read the runs of a server, newest first and within bounds, and count what they did."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus
from temporalio.service import RPCError

from coterie.activities.contracts import AgentResponse, FunctionRequest, FunctionResult
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import ParallelStep, Step
from coterie.dsl.model.traversal.step_paths import without_numbers
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.tool_loop.call_names import without_calls
from coterie.failures import CommandError, ExitCode
from coterie.logs import quietly
from coterie.rendering.stats_text import StatsPart, stats_json, stats_text
from coterie.replay.rebuilt_run import Rebuilt, joined_trails, rebuilt
from coterie.runs.call_errors import list_error
from coterie.runs.histories.history_events import started
from coterie.runs.histories.history_links import links
from coterie.runs.histories.recorded_calls import RecordedCall, recorded_calls
from coterie.runs.histories.recorded_plans import started_name
from coterie.runs.run_client import Run
from coterie.runs.run_list import RunFilter
from coterie.runs.stats_report import (
    DecisionStats,
    StatsReport,
    StrategyStats,
    TeamStats,
    ToolStats,
    UseStats,
)
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import say
from coterie.workflows.core.causes.agent_causes import ModelTurned
from coterie.workflows.core.views import TrailEntry

_WON = ("branch_won", "first_success")

Row = TypeVar("Row", bound=UseStats)


@dataclass(frozen=True, slots=True)
class CountedRun:
    """What a run is known to have done."""

    plan: str
    """The team or document that was started."""
    over: bool
    completed: bool
    seconds: float
    """From its start to its end; of an open run, until now."""
    strategies: frozenset[tuple[str, str]]
    """`{(parallel step, branch)}`, from `strategies_of`."""
    trail: Sequence[TrailEntry]
    """Empty if this version cannot follow the run."""
    calls: Sequence[RecordedCall]
    events: int
    followed: bool = True


def strategies_of(plan: Plan) -> frozenset[tuple[str, str]]:
    """Return the branches of all parallel steps where one result is enough."""
    return frozenset(
        (step.name, branch)
        for steps in _step_lists(plan)
        for step, _ in walk(steps, ())
        if isinstance(step, ParallelStep) and step.join != "all"
        for branch in step.branches
    )


def _step_lists(plan: Plan) -> Iterator[Sequence[Step]]:
    yield from (team.steps for team in plan.teams.values())
    yield from (
        persona.execution_plan for persona in plan.personas.values() if persona.execution_plan
    )


@dataclass(slots=True)
class StatsCounter:
    """Adds up runs."""

    runs: int = 0
    events: int = 0
    unfollowed: int = 0
    _teams: dict[str, TeamStats] = field(default_factory=dict[str, TeamStats])
    _strategies: dict[str, StrategyStats] = field(default_factory=dict[str, StrategyStats])
    _decisions: dict[str, DecisionStats] = field(default_factory=dict[str, DecisionStats])
    _tools: dict[str, ToolStats] = field(default_factory=dict[str, ToolStats])

    def add(self, run: CountedRun) -> None:
        """Count one run."""
        self.runs += 1
        self.events += run.events
        self.unfollowed += not run.followed
        team = self._teams.get(run.plan) or TeamStats(team=run.plan)
        if run.over:
            self._teams[run.plan] = _count_end(team, run.completed, run.seconds)
        else:
            self._teams[run.plan] = team.model_copy(update={"open": team.open + 1})
        for call in run.calls:
            self._call(call)
        functions = [call for call in run.calls if isinstance(call.request, FunctionRequest)]
        call_keys = {(call.path, call.visit) for call in functions}
        for entry in run.trail:
            self._entry(entry, run, call_keys)

    def report(self, *, more: bool, unreadable: Sequence[str] = ()) -> StatsReport:
        """Return the sums, most used first."""
        return StatsReport(
            runs=self.runs,
            events=self.events,
            more=more,
            unfollowed=self.unfollowed,
            unreadable=tuple(unreadable)[:20],
            teams=_sort_rows(self._teams.values()),
            strategies=tuple(self._strategies[key] for key in sorted(self._strategies)),
            decisions=_sort_rows(self._decisions.values()),
            tools=_sort_rows(self._tools.values()),
        )

    def _call(self, call: RecordedCall) -> None:
        if call.ended is None:
            return
        answer = call.answer
        if isinstance(call.request, FunctionRequest):
            name = call.request.skill
            stats = self._tools.get(name) or ToolStats(tool=name)
            is_success = isinstance(answer, FunctionResult)
            row = _count_end(stats, is_success, _seconds_worked(call))
            again = max(call.attempts - 1, 0)
            self._tools[name] = row.model_copy(update={"retries": stats.retries + again})
            return
        key = _key(call.path)
        row = self._decision(key)
        usage = answer.usage if isinstance(answer, AgentResponse) else None
        tokens = 0 if usage is None else usage.total
        good = isinstance(answer, AgentResponse) and answer.success
        new_row = _count_end(row, good, _seconds_worked(call))
        self._decisions[key] = new_row.model_copy(update={"tokens": row.tokens + tokens})

    def _decision(self, key: str) -> DecisionStats:
        team, _, step = key.partition("/")
        return self._decisions.get(key) or DecisionStats(team=team, step=step)

    def _entry(self, entry: TrailEntry, run: CountedRun, call_keys: set[tuple[str, int]]) -> None:
        if entry.kind != "step" or entry.step is None:
            return
        path = f"{entry.team}/{entry.step}"
        if isinstance(entry.cause, ModelTurned):
            self._turn(_key(path), entry.cause)
        elif entry.event == "tool_end" and (path, entry.visit) not in call_keys:
            name = without_calls(entry.step.rpartition("/")[2])
            stats = self._tools.get(name) or ToolStats(tool=name)
            good = entry.status == "success"
            self._tools[name] = _count_end(stats, good, entry.seconds or 0.0)
        else:
            self._branch(entry, run.strategies)

    def _turn(self, key: str, cause: ModelTurned) -> None:
        row = self._decision(key)
        match cause.code:
            case "turn_called":
                more = {"called": row.called + 1}
            case "turn_answered":
                more = {"answered": row.answered + 1}
            case "turn_too_early" | "turn_unusable":
                more = {"corrected": row.corrected + 1}
            case "turn_failed":
                more = {}
        self._decisions[key] = row.model_copy(update=more)

    def _branch(self, entry: TrailEntry, strategies: frozenset[tuple[str, str]]) -> None:
        step, _, branch = without_numbers(entry.step or "").rpartition("/")
        if (step.rpartition("/")[2], branch) not in strategies:
            return
        key = f"{entry.team}/{step}/{branch}"
        stats = self._strategies.get(key) or StrategyStats(
            team=entry.team, step=step, branch=branch
        )
        match entry.status:
            case "success" | "failure":
                stats = _count_end(stats, entry.status == "success", entry.seconds or 0.0)
            case "cancelled":
                stats = stats.model_copy(update={"cancelled": stats.cancelled + 1})
            case _:
                return
        has_won = entry.cause is not None and entry.cause.code in _WON
        self._strategies[key] = stats.model_copy(update={"won": stats.won + has_won})


def _count_end(row: Row, good: bool, seconds: float) -> Row:
    return row.model_copy(
        update={
            "count": row.count + 1,
            "succeeded": row.succeeded + good,
            "seconds": row.seconds + seconds,
        }
    )


def _seconds_worked(call: RecordedCall) -> float:
    """Return the seconds that a call worked, in its last attempt if it failed."""
    if call.answer is not None:
        return call.answer.seconds
    if call.ended is None or call.started is None:
        return 0.0
    return (call.ended - call.started).total_seconds()


def _key(path: str) -> str:
    """Return the step of a call, without the numbers of rounds, turns and calls."""
    return without_numbers(without_calls(path))


def _sort_rows(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda row: -row.count))


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
        raise list_error(error) from None
    return counter.report(more=more, unreadable=unreadable)


async def _plan_name(client: Client, execution: WorkflowExecution) -> str:
    """Return the team or document that was started, as `coterie runs` names it."""
    description = await Run(client, execution.id).describe()
    return await started_name(client, description)


async def _count_run(
    client: Client, execution: WorkflowExecution, name: str, now: datetime
) -> CountedRun:
    """Read and replay the histories of a run."""
    trails: list[tuple[TrailEntry, ...]] = []
    calls: list[RecordedCall] = []
    began: datetime | None = None
    events, is_followed = 0, True
    strategies: frozenset[tuple[str, str]] = frozenset()
    async for history in links(client, execution.id):
        began = began or started(history).at
        events += len(history.events)
        calls += recorded_calls(history)
        rebuilt_run = await rebuilt(history)
        if isinstance(rebuilt_run, Rebuilt):
            trails.append(rebuilt_run.trail)
            strategies |= strategies_of(rebuilt_run.plan)
        else:
            is_followed = False
    over = execution.close_time is not None
    run_time = (execution.close_time or now) - (began or execution.start_time)
    return CountedRun(
        plan=name,
        over=over,
        completed=execution.status == WorkflowExecutionStatus.COMPLETED,
        seconds=run_time.total_seconds(),
        strategies=strategies,
        trail=joined_trails(*trails),
        calls=calls,
        events=events,
        followed=is_followed,
    )
