"""`coterie report`: the page of a run as one file, which needs no server and no script."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from coterie.failures import CommandError
from coterie.gateway.console.compare_page import compare_page
from coterie.gateway.console.page_templates import offline_frame, render
from coterie.gateway.console.plan_outline import values_of_document
from coterie.gateway.console.run_page import RunPage, run_page
from coterie.inspection.followed_run import (
    FollowedRun,
    is_history_file,
    run_in_file,
    run_on_server,
)
from coterie.inspection.run_comparison import compare, compared
from coterie.rendering.commit_diffs import CommitDiffs
from coterie.replay.rebuilt_run import NotFollowed
from coterie.runs.run_workspaces import workspace_of_run
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.workflows.core.requests import RequestView


async def report_of_run(settings: Settings, source: str) -> str:
    """Return the page of a run, or of a history in a file, as one HTML file.

    Raises:
        CommandError: The run does not exist, or this code cannot follow it.
    """
    page = await _page_of(settings, source)
    return render("run.html", offline_frame(f"{page.plan.name}: {page.run}"), page)


async def report_of_comparison(settings: Settings, source: str, other: str) -> str:
    """Return the page that compares two runs, as one HTML file; raises like `report_of_run`."""
    first, second = await _read_run(settings, source), await _read_run(settings, other)
    page = compare_page(compare(compared(first), compared(second)))
    return render("compare.html", offline_frame(f"{page.first.run} and {page.second.run}"), page)


async def _page_of(settings: Settings, source: str) -> RunPage:
    recorded = await _read_run(settings, source)
    folder = workspace_of_run(settings, recorded.id)
    latest = recorded.latest
    requests = await _with_diffs(latest.requests, folder, settings)
    recorded = replace(recorded, parts=(*recorded.parts[:-1], replace(latest, requests=requests)))
    values = values_of_document(settings, latest.plan)
    return run_page(recorded, datetime.now(UTC), values, folder)


async def _read_run(settings: Settings, source: str) -> FollowedRun:
    if is_history_file(settings, source):
        return await run_in_file(settings, source)
    connection = await open_connection(settings)
    recorded = await run_on_server(connection.client, source)
    if isinstance(recorded, NotFollowed) and not recorded.has_begun:
        raise CommandError(f"no worker has begun the run {source!r} yet: start `coterie worker`")
    if isinstance(recorded, NotFollowed):
        raise CommandError(
            f"another version of Coterie ran {source!r}, which this one cannot follow "
            f"({recorded.cause}); write the report with that version"
        )
    return recorded


async def _with_diffs(
    requests: Mapping[str, RequestView], folder: Path | None, settings: Settings
) -> dict[str, RequestView]:
    """Add to the waiting requests what only their files tell: the diff of a commit."""
    diffs = CommitDiffs(folder, settings.environment)
    views: dict[str, RequestView] = {}
    for id, view in requests.items():
        whole = None if view.pending is None else await diffs.complete(view.pending)
        views[id] = view.model_copy(update={"pending": whole})
    return views
