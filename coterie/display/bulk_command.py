"""Implement `coterie retry --failed`: show what it would touch, start it, and follow it."""

import asyncio
from datetime import UTC, datetime

from coterie.control.bulk_runs import bulk_progress, chosen_runs, start_bulk
from coterie.display.keyboard import ask_yes_no
from coterie.failures import CommandError, ExitCode
from coterie.logs import quietly
from coterie.rendering.run_table import run_table
from coterie.runs.call_errors import Unanswered
from coterie.runs.run_list import RunFilter, RunRow
from coterie.runs.task_queues import is_served
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import is_interactive, note, say
from coterie.text.problems import counted
from coterie.workflows.core.bulk_messages import (
    MAX_BULK_ITEMS,
    BulkInput,
    BulkItem,
    BulkOutcome,
    BulkReport,
)
from coterie.workflows.core.messages import RetryInput

_BETWEEN_LOOKS = 0.5


async def retry_failed(
    settings: Settings, wanted: RunFilter, by: str, why: str, *, confirmed: bool
) -> ExitCode:
    """Continue every failed run that matches, in another run, from where it failed.

    Args:
        settings: Environment of the command.
        wanted: Which runs.
        by: Who retries them.
        why: The reason, kept in their trails.
        confirmed: Whether to begin without a question.

    Raises:
        CommandError: Nobody can confirm it, or the server does not answer.
    """
    quietly(settings)
    client = (await open_connection(settings)).client
    rows: list[RunRow] = []
    items: list[BulkItem] = []
    retry_input = RetryInput(by=by, why=why)
    async for row, item in chosen_runs(client, wanted):
        rows.append(row)
        items.append(item.model_copy(update={"retry": retry_input}))
    if not items:
        note("no failed run matches")
        return ExitCode.DONE
    note(run_table(rows, datetime.now(UTC)))
    if len(items) == MAX_BULK_ITEMS:
        note(f"these are the latest {MAX_BULK_ITEMS:,}; repeat the command for older ones")
    if not confirmed and not await _is_confirmed(len(items)):
        note("nothing is retried")
        return ExitCode.RUN_FAILED
    bulk = BulkInput(action="retry", items=tuple(items), by=by, why=why)
    id = await start_bulk(client, bulk, task_queue=settings.task_queue)
    note(f"{id} has begun; it needs this command no longer (Ctrl-C stops only the waiting)")
    if not await is_served(client, settings.task_queue):
        note(f"no worker serves the task queue {settings.task_queue!r} yet: start `coterie worker`")
    shown = 0
    while True:
        try:
            report = await bulk_progress(client, id)
        except Unanswered:
            await asyncio.sleep(_BETWEEN_LOOKS)
            continue
        for outcome in report.outcomes[shown:]:
            say(outcome_line(outcome))
        shown = len(report.outcomes)
        if report.is_finished:
            return _exit_code(report)
        await asyncio.sleep(_BETWEEN_LOOKS)


async def _is_confirmed(count: int) -> bool:
    if not is_interactive():
        raise CommandError(
            f"this retries {counted(count, 'run')}, and nobody can confirm it here: add --yes"
        )
    return await ask_yes_no(f"retry {counted(count, 'run')}?") is True


def outcome_line(outcome: BulkOutcome) -> str:
    """Say what came of one run."""
    what = outcome.run if outcome.request is None else f"{outcome.run} {outcome.request}"
    match outcome.effect:
        case "done" if outcome.new_run is not None:
            return f"{what}: continues in {outcome.new_run}"
        case "done":
            return f"{what}: {outcome.because or 'done'}"
        case "skipped" | "refused":
            return f"{what}: {outcome.effect}, because {outcome.because}"
        case "unanswered":
            return f"{what}: unknown, because {outcome.because}"


def _exit_code(report: BulkReport) -> ExitCode:
    is_complete = all(outcome.effect == "done" for outcome in report.outcomes)
    return ExitCode.DONE if is_complete else ExitCode.RUN_FAILED
