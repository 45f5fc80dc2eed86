"""Collect the requests that wait for a person, in one run or in many."""

import asyncio
from collections.abc import Iterable

from temporalio.client import Client

from coterie.failures import CommandError
from coterie.inspection.recorded_requests import requests_of
from coterie.rendering.commit_diffs import CommitDiffs
from coterie.rendering.request_text import PendingOfRun
from coterie.runs.run_client import Run
from coterie.runs.run_workspaces import workspace_of_run
from coterie.settings import Settings

_ASKED_AT_ONCE = 20


async def requests_in(settings: Settings, client: Client, run: Run) -> list[PendingOfRun]:
    """Return the requests that wait in a run; raises like `requests_of`."""
    folder = workspace_of_run(settings, run.id)
    run.complete = CommitDiffs(folder, settings.environment).complete
    requests = await requests_of(client, run)
    return [PendingOfRun(run.id, request, requests.served, folder) for request in requests.pending]


async def requests_in_all(
    settings: Settings, client: Client, runs: Iterable[Run]
) -> tuple[list[PendingOfRun], tuple[str, ...]]:
    """Ask many runs for their requests, a few at once.

    Returns:
        The requests, and the ids of the runs that do not answer.
    """
    slots = asyncio.Semaphore(_ASKED_AT_ONCE)
    silent: list[str] = []

    async def requests_in_one(run: Run) -> list[PendingOfRun]:
        async with slots:
            try:
                return await requests_in(settings, client, run)
            except CommandError:  # no worker answers, or it is another kind of workflow
                silent.append(run.id)
                return []

    groups = await asyncio.gather(*(requests_in_one(run) for run in runs))
    return [request for of_run in groups for request in of_run], tuple(silent)
