"""Serve and watch a run in one process: its own worker, and supervision of the server."""

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from coterie.display.decider import Decider
from coterie.display.following.discovery_notes import DiscoveryNotes
from coterie.display.following.follower import Watch
from coterie.display.following.live import LiveView
from coterie.display.following.plain_view import PlainView, ProgressView
from coterie.display.screens import OpenScreen, Screen, ScreenHandling, ScreenLeft
from coterie.display.written_decisions import WrittenDecision
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.failures import CommandError, ExitCode
from coterie.logs import to_file
from coterie.rendering.commit_diffs import CommitDiffs
from coterie.rendering.run_summary import summary_text, summary_width
from coterie.runs.call_errors import UnknownRun
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.new_runs import start_run
from coterie.runs.records import RunRecord, kept, never_started
from coterie.runs.run_client import MessageSigner, Run
from coterie.server.connection import Connection, Embedded, open_connection
from coterie.server.embedded_server import ServerMoved, supervise
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.worker.run_worker import GRACE, run_worker
from coterie.workflows.core.messages import TeamInput


class WatchOptions(NamedTuple):
    """How a person follows a run, and decides."""

    written: Sequence[WrittenDecision]
    """Written decisions."""
    interactive: bool
    """A person can be asked."""
    verbose: bool = False
    """Print every event."""
    opened: OpenScreen | None = None
    """Makes the screen; None to print lines."""
    signer: MessageSigner | None = None
    """Signs what the person decides."""


async def serve_and_watch(
    settings: Settings, record: RunRecord, begin: tuple[Plan, Json] | None, options: WatchOptions
) -> ExitCode:
    """Serve the run until it ends, then print a summary.

    Args:
        settings: Environment of the command.
        record: What is needed to serve the run.
        begin: Plan and context of a new run; None to resume one.
        options: How a person follows it.
    """
    to_file(settings)
    while True:
        connection = await open_connection(settings, start=True)
        try:
            return await _serve_at(connection, settings, record, begin, options)
        except ServerMoved as moved:
            note(f"{moved}; the run continues there")
            begin = None


async def _serve_at(
    connection: Connection,
    settings: Settings,
    record: RunRecord,
    begin: tuple[Plan, Json] | None,
    options: WatchOptions,
) -> ExitCode:
    async with run_worker(connection.client, settings, record):
        run = await _begin_run(settings, connection, record, begin)
        run.signer = options.signer
        folder = Path(record.trusted.workspace)
        run.complete = CommitDiffs(folder, settings.environment).complete
        _announce(run, connection)
        view, watching = _view_and_watch(run, settings, record, options)
        try:
            end = await _watch_run(watching, view, connection.embedded)
        except (asyncio.CancelledError, ScreenLeft):
            view.close()
            note(
                f"\nfinishing calls in progress, {GRACE.seconds} s at most; Ctrl-C again to stop "
                "at once"
            )
            raise
        except ServerMoved:
            raise
        except CommandError as error:
            raise CommandError(
                f"{error}. The run is not finished; resume it: "
                f"coterie run --resume {quote(run.id)}",
                error.exit_code,
            ) from None
        finally:
            view.close()
    _print_summary(run, end, view, connection)
    return end.exit_code


def _view_and_watch(
    run: Run, settings: Settings, record: RunRecord, options: WatchOptions
) -> tuple[ProgressView, Coroutine[object, object, RunEnd]]:
    """Return what shows the run, and what follows it to its end there."""
    if options.opened is None:
        view = _view(run, settings, record, options)
        return view, _on_terminal(run, record, view, options)
    screen = options.opened(run, Path(record.trusted.workspace))
    return screen, _on_screen(run, record, screen, options.written)


async def _begin_run(
    settings: Settings, connection: Connection, record: RunRecord, begin: tuple[Plan, Json] | None
) -> Run:
    if begin is None:
        run = Run(connection.client, record.id, served_here=True)
        try:
            await run.describe()
        except UnknownRun:
            raise CommandError(never_started(settings, record)) from None
        return run
    plan, context = begin
    team_input = TeamInput(plan=plan, context=context, marked=record.trusted.sets_visibility)
    with kept(settings, record):
        return await start_run(
            connection.client,
            record.id,
            team_input,
            task_queue=record.task_queue,
            summary=plan.name,
        )


def _announce(run: Run, connection: Connection) -> None:
    ui = connection.ui_of(run.id)
    note(f"run {run.id}" + (f"  {ui}" if ui else ""))


def _view(run: Run, settings: Settings, record: RunRecord, options: WatchOptions) -> ProgressView:
    verbose, workspace = options.verbose, Path(record.trusted.workspace)
    if not options.interactive:
        return PlainView(run.id, verbose=verbose, workspace=workspace)
    return LiveView(run.id, color=settings.color, verbose=verbose, workspace=workspace)


def _on_terminal(
    run: Run, record: RunRecord, view: ProgressView, options: WatchOptions
) -> Coroutine[object, object, RunEnd]:
    """Return what follows the run line by line."""
    decider = Decider(
        run,
        view,
        options.written,
        interactive=options.interactive,
        workspace=Path(record.trusted.workspace),
    )
    return Watch(run, view, decider, DiscoveryNotes(record.trusted.providers)).until_end()


def _on_screen(
    run: Run, record: RunRecord, screen: Screen, decisions: Sequence[WrittenDecision]
) -> Coroutine[object, object, RunEnd]:
    """Return what shows the run in the whole terminal, until the person leaves."""
    handling = ScreenHandling(Decider(run, screen, decisions, interactive=False), screen, decisions)
    notes = DiscoveryNotes(record.trusted.providers)
    return screen.until_left(Watch(run, screen, handling, notes).until_end())


async def _watch_run(
    end: Coroutine[object, object, RunEnd], view: ProgressView, embedded: Embedded | None
) -> RunEnd:
    """Watch the run, and restart an embedded server that dies."""
    watching = asyncio.create_task(end)
    supervising = asyncio.create_task(_supervise_server(view, embedded))
    try:
        await asyncio.wait({watching, supervising}, return_when=asyncio.FIRST_COMPLETED)
        if supervising.done():
            await supervising  # it only ends by an error
        return await watching
    finally:
        for task in (watching, supervising):
            task.cancel()
        await asyncio.wait({watching, supervising})


async def _supervise_server(view: ProgressView, embedded: Embedded | None) -> None:
    if embedded is None:
        await asyncio.Event().wait()
    else:
        await supervise(
            embedded.server,
            embedded.record,
            lambda: view.say("the embedded server died and was restarted"),
        )


def _print_summary(run: Run, end: RunEnd, view: ProgressView, connection: Connection) -> None:
    say(summary_text(run.id, end, view.rows, summary_width()))
    ui = connection.ui_of(run.id)
    if ui:
        say(f"  seen at    {ui}")
