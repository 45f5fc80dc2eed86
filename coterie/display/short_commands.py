"""Short commands against a server: query runs, list requests, show results."""

import json
from datetime import UTC, datetime

from temporalio.client import Client, WorkflowExecutionStatus

from coterie.arguments import login_name
from coterie.dsl.errors import listed
from coterie.failures import ExitCode
from coterie.inspection.open_requests import requests_in, requests_in_all
from coterie.logs import quietly
from coterie.rendering.request_text import pending_text
from coterie.rendering.run_table import run_json, run_table
from coterie.rendering.run_text import end_text, status_text, trail_text
from coterie.runs.ends.end_facts import CLOSED_STATES, RunEnd
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.histories.recorded_plans import version_of_run
from coterie.runs.run_client import Run, json_of
from coterie.runs.run_list import RunFilter, open_runs, run_rows
from coterie.runs.run_waits import wait_for
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.text.problems import counted


async def _client(settings: Settings) -> Client:
    """Connect, with the library's log lines going to a file."""
    quietly(settings)
    return (await open_connection(settings)).client


async def show_status(settings: Settings, id: str, *, trail: bool, as_json: bool) -> ExitCode:
    """Show where a run is, or how it ended."""
    client = await _client(settings)
    run = Run(client, id)
    description = await run.describe()
    if description.status != WorkflowExecutionStatus.RUNNING and not trail:
        version = await version_of_run(client, description)
        _show_end(run, await run.end(), as_json=as_json, version=version)
        return ExitCode.DONE
    status = await run.status()
    entries = await run.trail() if trail else []
    became = None if description.status is None else CLOSED_STATES.get(description.status)
    if as_json:
        data = status.model_dump(mode="json")
        data["state"] = became or status.state
        if trail:
            data["trail"] = [entry.model_dump(mode="json") for entry in entries]
        say(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        say(status_text(id, status, became))
        if entries:
            say(trail_text(entries))
    return ExitCode.DONE


async def show_pending(settings: Settings, id: str | None, *, as_json: bool) -> ExitCode:
    """Show the requests of a run, or of all open ones."""
    client = await _client(settings)
    silent: tuple[str, ...] = ()
    if id is not None:
        open_requests = await requests_in(settings, client, Run(client, id))
    else:
        runs = [run async for run in open_runs(client)]
        open_requests, silent = await requests_in_all(settings, client, runs)
    if as_json:
        requests = [
            {
                "run": pending.run,
                "served": pending.served,
                **pending.request.model_dump(mode="json"),
            }
            for pending in open_requests
        ]
        say(json.dumps(requests, indent=2, ensure_ascii=False))
    elif open_requests:
        say(pending_text(open_requests, login_name()))
    else:
        note("no request waits for a person")
    if silent:
        note(f"no worker answers for {counted(len(silent), 'open run')}: {listed(silent)}")
    return ExitCode.DONE


async def show_runs(
    settings: Settings, wanted: RunFilter, limit: int, *, as_json: bool
) -> ExitCode:
    """List the runs on the server that match a filter."""
    rows = [row async for row in run_rows(await _client(settings), wanted, limit)]
    if as_json:
        say(json.dumps([run_json(row) for row in rows], indent=2, ensure_ascii=False))
    elif rows:
        say(run_table(rows, datetime.now(UTC)))
    else:
        note("no run matches")
    if len(rows) == limit:
        note(f"these are the latest {limit}; for more: --limit {2 * limit}")
    return ExitCode.DONE


async def show_result(
    settings: Settings, id: str, within: float | None, *, as_json: bool
) -> ExitCode:
    """Show how a run ended; wait for the end if necessary.

    Raises:
        CommandError: It has not ended in time.
    """
    run = Run(await _client(settings), id)
    description = await run.describe()
    if description.status == WorkflowExecutionStatus.RUNNING:
        if within != 0:
            note(f"run {id} is still open; waiting for its end (Ctrl-C stops only the waiting)")
        end = await wait_for(run, run.end(), within, f"run {id} is still open")
    else:
        end = await run.end()
    _show_end(run, end, as_json=as_json)
    return end.exit_code


def _show_end(run: Run, end: RunEnd, *, as_json: bool, version: str | None = None) -> None:
    if not as_json:
        say(end_text(run.id, end, version))
    elif end.result is not None:
        say(json_of(end.result))
    else:
        say(json.dumps({"end": end.outcome, "because": incomplete_reason(end)}, indent=2))
