"""A run as there is to draw of it: its own plan, and the path that it took."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHistory

from coterie.failures import CommandError
from coterie.graph.taken_path import Walk, walk_of
from coterie.replay.links import continued
from coterie.replay.rebuilt_run import NotFollowed, Rebuilt, rebuilt, recorded_plan
from coterie.runs.call_errors import Unanswered
from coterie.runs.run_client import Run
from dsl.model.plan import Plan
from workflows.core.views import RunStatus, TrailEntry

OVER = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: "completed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: "failed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED: "was cancelled",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: "was terminated",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT: "timed out",
}
"""What became of a run, by the last event of its history; of an open one there is nothing."""


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A run and its plan."""

    plan: Plan
    walk: Walk


async def seen_run(client: Client, id: str) -> SeenRun:
    """A run of a server, from its history, or from its worker when this code cannot follow it.

    Raises:
        CommandError: there is no such run, it has no plan, or nobody can tell its path.
    """
    run = Run(client, id)
    history = await run.history()
    earlier = [entry async for part in earlier_parts(client, history) for entry in part.trail]
    seen = await seen_history(history, earlier)
    if isinstance(seen, SeenRun):
        return seen
    plan = recorded_plan(history)
    if plan is None:
        raise CommandError(f"the run {id!r} has no plan in its history; is it a run of ours?")
    try:
        trail, status = await run.trail(), await run.status()
    except Unanswered as error:
        raise CommandError(
            f"another version of this code ran {id!r} ({seen.cause}), and only a worker of that "
            f"version can tell its path: {error}"
        ) from None
    return _seen(plan, history, joined(earlier, trail), status)


async def seen_history(
    history: WorkflowHistory, earlier: Iterable[TrailEntry] = ()
) -> SeenRun | NotFollowed:
    """Return a run from its history alone, or why this code cannot follow it.

    Args:
        history: of the latest part of the run.
        earlier: what the trails of its earlier parts tell.
    """
    run = await rebuilt(history)
    if isinstance(run, NotFollowed):
        return run
    return _seen(run.plan, history, joined(earlier, run.trail), run.status)


async def earlier_parts(client: Client, history: WorkflowHistory) -> AsyncIterator[Rebuilt]:
    """The parts before one that continued as new, latest first, as far as this code can follow."""
    while earlier := continued(history.events[0]):
        history = await Run(client, history.workflow_id).history(earlier)
        part = await rebuilt(history)
        if isinstance(part, NotFollowed):
            return
        yield part


def joined(*parts: Iterable[TrailEntry]) -> list[TrailEntry]:
    """One trail of several that overlap."""
    by_number = {entry.number: entry for part in parts for entry in part}
    return [by_number[number] for number in sorted(by_number)]


def _seen(
    plan: Plan, history: WorkflowHistory, trail: list[TrailEntry], status: RunStatus
) -> SeenRun:
    ended = OVER.get(history.events[-1].event_type)
    headline = _headline(history.events[-1], ended, status)
    if trail and trail[0].number > 1:
        headline += f"; the path begins with event {trail[0].number}"
    walk = walk_of(history.workflow_id, headline, trail, status, over=ended is not None)
    return SeenRun(plan, walk)


def _headline(last: HistoryEvent, ended: str | None, status: RunStatus) -> str:
    visits = f"{status.teams_run} of {status.max_total_teams} team visits"
    if ended is not None:
        return f"{ended} after {visits}{_why(last)}"
    if status.waiting_for:
        return f"waits for a person: {', '.join(status.waiting_for)}; {visits}"
    doing = status.doing[-1].step if status.doing else status.team or "the beginning"
    return f"goes on at {doing}; {visits}"


def _why(last: HistoryEvent) -> str:
    message = last.workflow_execution_failed_event_attributes.failure.message
    reason = last.workflow_execution_terminated_event_attributes.reason
    return f": {message or reason}" if message or reason else ""
