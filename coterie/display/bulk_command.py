"""Act on many runs from the terminal: show what it would touch, ask, begin, and follow it."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from temporalio.client import Client

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


async def act_on_many(
    settings: Settings,
    action: Literal["retry", "cancel"],
    wanted: RunFilter,
    by: str,
    why: str,
    *,
    confirmed: bool,
) -> ExitCode:
    """Retry or cancel every run that matches; a retried one continues in another run.

    Args:
        settings: Environment of the command.
        action: What to do with each.
        wanted: Which runs.
        by: Who does it.
        why: The reason, kept in their trails.
        confirmed: Whether to begin without a question.

    Raises:
        CommandError: Nobody can confirm it, or the server does not answer.
    """
    quietly(settings)
    client = (await open_connection(settings)).client
    update = {"retry": RetryInput(by=by, why=why)} if action == "retry" else {}
    rows: list[RunRow] = []
    items: list[BulkItem] = []
    async for row, item in chosen_runs(client, wanted):
        rows.append(row)
        items.append(item.model_copy(update=update))
    if not items:
        note(f"no {wanted.wanted_state} run matches")
        return ExitCode.DONE
    note(run_table(rows, datetime.now(UTC)))
    note_limit(rows)
    if not await is_confirmed(f"{action} {counted(len(items), 'run')}", confirmed=confirmed):
        return ExitCode.RUN_FAILED
    bulk = BulkInput(action=action, items=tuple(items), by=by, why=why)
    return await begin_bulk(settings, client, bulk)


def note_limit(rows: Sequence[RunRow]) -> None:
    """Say that there may be more runs than one action takes."""
    if len(rows) == MAX_BULK_ITEMS:
        note(f"these are the latest {MAX_BULK_ITEMS:,} runs; repeat the command for older ones")


async def is_confirmed(what: str, *, confirmed: bool) -> bool:
    """Ask the person at the terminal.

    Raises:
        CommandError: There is nobody.
    """
    if confirmed:
        return True
    if not is_interactive():
        raise CommandError(f"this would {what}, and nobody can confirm it here: add --yes")
    if await ask_yes_no(f"{what}?") is True:
        return True
    note("nothing is done")
    return False


async def begin_bulk(settings: Settings, client: Client, bulk: BulkInput) -> ExitCode:
    """Begin the action, and print what comes of each run.

    Raises:
        CommandError: The server refuses it, or does not answer.
    """
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
