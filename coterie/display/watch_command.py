"""Watch any run: one served elsewhere, another user's, one that ended long ago.

Watching changes nothing: watchers may come and go, and the run does not notice.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from shlex import quote

from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus

from coterie.arguments import login_name
from coterie.display.following.follower import Watch
from coterie.display.following.live import LiveView
from coterie.display.following.plain_view import EventsView, PlainView, ProgressView, event_lines
from coterie.display.screens import OpenScreen, PastRun, ScreenLeft
from coterie.failures import CommandError, ExitCode
from coterie.inspection.trace import traced
from coterie.logs import quietly
from coterie.rendering.commit_diffs import CommitDiffs
from coterie.rendering.decision_commands import decision_commands
from coterie.rendering.run_summary import summary_text, summary_width
from coterie.replay.rebuilt_run import NotFollowed, rebuilt
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.progress import Progress
from coterie.runs.run_client import Run
from coterie.runs.run_view import RunNews
from coterie.runs.run_workspaces import workspace_of_run
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.storage.histories import WORKFLOW
from coterie.terminal import note, say, say_part
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.views import TrailEntry


async def watch_run(settings: Settings, id: str, *, live: bool, verbose: bool = False) -> ExitCode:
    """Follow a run to its end, then show how it ended.

    Args:
        settings: Environment of the command.
        id: Id of the run.
        live: Redraw in a terminal, instead of printing lines.
        verbose: Print every event.
    """
    quietly(settings)
    connection = await open_connection(settings)
    run = Run(connection.client, id)
    description = await _team_run(run)
    ui = connection.ui_of(id)
    note(f"run {id}" + (f"  {ui}" if ui else ""))
    if description.status != WorkflowExecutionStatus.RUNNING:
        plain_view = PlainView(id, say, write_part=say_part, verbose=True) if verbose else None
        return await _print_summary(settings, run, await run.end(), plain_view)
    folder = workspace_of_run(settings, id)
    run.complete = CommitDiffs(folder, settings.environment).complete
    view = await _view(settings, run, description, live=live, verbose=verbose)
    watch = Watch(run, view, DecisionHints(run, view, live=live))
    try:
        end = await watch.until_end()
    except asyncio.CancelledError:
        view.close()
        note(f"\nthe run continues; watch it again: coterie watch {quote(id)}")
        raise
    finally:
        view.close()
    plain_view = view if isinstance(view, PlainView) else None
    return await _print_summary(settings, run, end, plain_view, after=_last(watch.trail))


async def watch_screen(settings: Settings, id: str, opened: OpenScreen) -> ExitCode:
    """Show a run in the whole terminal until the person leaves, then show how it ended.

    Args:
        settings: Environment of the command.
        id: Id of the run.
        opened: Makes the screen.
    """
    quietly(settings)
    connection = await open_connection(settings)
    run = Run(connection.client, id)
    description = await _team_run(run)
    if description.status != WorkflowExecutionStatus.RUNNING:
        return await _past_screen(settings, run, description, opened)
    folder = workspace_of_run(settings, id)
    run.complete = CommitDiffs(folder, settings.environment).complete
    screen = opened(run, folder)
    watch = Watch(run, screen, screen.requests)
    try:
        end = await screen.until_left(watch.until_end())
    except ScreenLeft:
        note(f"the run continues; watch it again: coterie watch {quote(id)} --ui")
        return ExitCode.INTERRUPTED
    return await _print_summary(settings, run, end, None)


async def _past_screen(
    settings: Settings, run: Run, description: WorkflowExecutionDescription, open_screen: OpenScreen
) -> ExitCode:
    """Show a run that has ended, as its history tells it: no worker may be left to ask."""
    end, past = await run.end(), await _past(run, description)
    if isinstance(past, NotFollowed):
        note(f"run {run.id} has ended, and its screen cannot be shown: {past.cause}")
    else:
        screen = open_screen(run, None)
        screen.take_past(past)
        await screen.until_left(_resolve_end(end))
    return await _print_summary(settings, run, end, None)


async def _past(run: Run, description: WorkflowExecutionDescription) -> PastRun | NotFollowed:
    rebuilt_run = await rebuilt(await run.history())
    if isinstance(rebuilt_run, NotFollowed):
        return rebuilt_run
    goal = rebuilt_run.context.get("goal")
    began = await run.began(description)
    return PastRun(
        RunNews(rebuilt_run.status, rebuilt_run.trail, cost=rebuilt_run.cost),
        goal if isinstance(goal, str) else "",
        began,
        description.close_time or began,
    )


async def _resolve_end(end: RunEnd) -> RunEnd:
    return end


async def _team_run(run: Run) -> WorkflowExecutionDescription:
    """Return the server's description of a run.

    Raises:
        CommandError: It is another kind of workflow.
    """
    description = await run.describe()
    if description.workflow_type != WORKFLOW:
        raise CommandError(
            f"{run.id!r} is not a run of a team, but a workflow {description.workflow_type!r}"
        )
    return description


async def watch_events(settings: Settings, id: str) -> ExitCode:
    """Print the named events of a run until its end, and nothing else.

    Args:
        settings: Environment of the command.
        id: Id of the run.
    """
    quietly(settings)
    connection = await open_connection(settings)
    run = Run(connection.client, id)
    description = await _team_run(run)
    trail: list[TrailEntry] = []
    if description.status == WorkflowExecutionStatus.RUNNING:
        view = EventsView(run.id)
        watch = Watch(run, view, DecisionHints(run, view, live=True))
        await watch.until_end()
        trail = watch.trail
    end = await run.end()
    trace = await traced(settings, id)
    for line in event_lines([entry for entry in trace.trail if entry.number > _last(trail)]):
        say(line)
    return ExitCode.DONE if end.completed else ExitCode.RUN_FAILED


def _last(trail: Sequence[TrailEntry]) -> int:
    return trail[-1].number if trail else 0


async def _view(
    settings: Settings,
    run: Run,
    description: WorkflowExecutionDescription,
    *,
    live: bool,
    verbose: bool,
) -> ProgressView:
    workspace = workspace_of_run(settings, run.id)
    if not live:
        return PlainView(run.id, say, write_part=say_part, verbose=verbose, workspace=workspace)
    seconds = (datetime.now(UTC) - await run.began(description)).total_seconds()
    return LiveView(
        run.id,
        color=settings.color,
        seconds=seconds,
        asks=False,
        verbose=verbose,
        workspace=workspace,
    )


async def _print_summary(
    settings: Settings, run: Run, end: RunEnd, view: PlainView | None, *, after: int = 0
) -> ExitCode:
    """Print a summary of the run from its history.

    Args:
        settings: Environment of the command.
        run: A run that has ended.
        end: How it ended.
        view: Prints the events that nobody has seen: the worker may have stopped before the last
            query. None prints none.
        after: Number of the last event that was printed.
    """
    rows = Progress()
    try:
        trace = await traced(settings, run.id)
    except CommandError as error:
        note(f"could not read what happened: {error}")
    else:
        rows.follow(trace.trail)
        if view is not None:
            new_entries = [entry for entry in trace.trail if entry.number > after]
            view.rows.follow(new_entries)
            view.events(new_entries)
    say()
    say(summary_text(run.id, end, rows, summary_width()))
    return ExitCode.DONE if end.completed else ExitCode.RUN_FAILED


class DecisionHints:
    """Prints once how to decide each request; decides nothing."""

    def __init__(self, run: Run, view: ProgressView, *, live: bool) -> None:
        self._run = run
        self._view = view
        self._live = live
        self._printed: set[str] = set()

    async def consider(self, pending: Sequence[Pending]) -> None:
        """Print the hint, unless a live display already shows it."""
        for request in pending:
            if not self._live and request.id not in self._printed:
                self._printed.add(request.id)
                whom = " or ".join(request.approvers) or "a person"
                commands = decision_commands(self._run.id, request, login_name())
                self._view.show(request)
                self._view.say(f"waits for {whom}: {request.id}\n  decide it with {commands}")

    async def close(self) -> None:
        """Do nothing."""
