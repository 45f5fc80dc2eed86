"""Collect what a graph shows of a run: its own plan, and its path."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from temporalio.client import Client, WorkflowHistory

from coterie.dsl.model.plan import Plan
from coterie.failures import CommandError
from coterie.graph.taken_path import Walk, walk_of
from coterie.replay.rebuilt_run import NotFollowed, earlier_parts, joined_trails, rebuilt
from coterie.runs.call_errors import Unanswered
from coterie.runs.ends.end_words import closed_words
from coterie.runs.histories.history_events import closed
from coterie.runs.histories.recorded_events import RunClosed
from coterie.runs.histories.recorded_plans import recorded_plan
from coterie.runs.run_client import Run
from coterie.runs.task_trees import TaskTree, reported_tree, task_tree
from coterie.workflows.core.progress.progress_kinds import TaskGraphProgress
from coterie.workflows.core.views import RunStatus, TrailEntry


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A run and its plan."""

    plan: Plan
    walk: Walk


async def seen_run(client: Client, id: str) -> SeenRun:
    """Read a run on a server: from its history, or from its worker if this code cannot follow it.

    Raises:
        CommandError: The run does not exist, has no plan, or its path is unknown.
    """
    run = Run(client, id)
    history = await run.history()
    parts = [part async for part in earlier_parts(client, history)]
    earlier = [entry for part in parts for entry in part.trail]
    graphs = {step: graph for part in reversed(parts) for step, graph in part.graphs.items()}
    past_run = await seen_history(history, earlier, graphs)
    if isinstance(past_run, SeenRun):
        return past_run
    plan = recorded_plan(history)
    if plan is None:
        raise CommandError(f"run {id!r} has no plan in its history; is it a Coterie run?")
    try:
        trail, status = await run.trail(), await run.status()
    except Unanswered as error:
        raise CommandError(
            f"another version of Coterie ran {id!r} ({past_run.cause}), and only a worker of that "
            f"version can report its path: {error}"
        ) from None
    trees = tuple(map(reported_tree, status.graphs))
    return _seen_run(plan, history, joined_trails(earlier, trail), status, trees)


async def seen_history(
    history: WorkflowHistory,
    earlier: Iterable[TrailEntry] = (),
    graphs: Mapping[str, TaskGraphProgress] | None = None,
) -> SeenRun | NotFollowed:
    """Return a run from its history alone, or why this code cannot follow it.

    Args:
        history: The history of the run's latest part.
        earlier: The trails of its earlier parts.
        graphs: The task graphs of its earlier parts, by their steps.
    """
    run = await rebuilt(history)
    if isinstance(run, NotFollowed):
        return run
    trees = tuple(
        task_tree(step, graph, over=step not in run.open_graphs)
        for step, graph in {**(graphs or {}), **run.graphs}.items()
    )
    return _seen_run(run.plan, history, joined_trails(earlier, run.trail), run.status, trees)


def _seen_run(
    plan: Plan,
    history: WorkflowHistory,
    trail: list[TrailEntry],
    status: RunStatus,
    trees: tuple[TaskTree, ...],
) -> SeenRun:
    end = closed(history)
    headline = _headline(end, status)
    if trail and trail[0].number > 1:
        headline += f"; the path starts at event {trail[0].number}"
    walk = walk_of(history.workflow_id, headline, trail, status, over=end is not None)
    return SeenRun(plan, replace(walk, trees=trees))


def _headline(end: RunClosed | None, status: RunStatus) -> str:
    visits = f"{status.visits_toward_limit} of {status.max_total_teams} team visits"
    if end is not None:
        return f"{closed_words(end.state)} after {visits}{f': {end.why}' if end.why else ''}"
    if status.waiting_for:
        return f"waits for a person: {', '.join(status.waiting_for)}; {visits}"
    doing = status.doing[-1].step if status.doing else status.team or "the start"
    return f"running at {doing}; {visits}"
