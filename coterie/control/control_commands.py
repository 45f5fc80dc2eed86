"""Commands that pause and resume a run, change its context, and stop it."""

from collections.abc import Sequence
from typing import Literal

from temporalio.client import (
    WorkflowExecutionStatus,
)

from coterie.argument_values import WrittenSetting, read_updates
from coterie.control.run_signals import send_cancel, send_control
from coterie.failures import ExitCode
from coterie.rendering.request_text import decision_text
from coterie.rendering.run_text import end_text
from coterie.runs.call_errors import has_ended
from coterie.runs.recorded_plans import declared_context
from coterie.runs.run_client import Run
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import note, say
from workflows.core.messages import AmendInput, RedirectInput, SkipInput


async def control(
    settings: Settings, id: str, what: Literal["pause", "resume"], by: str, why: str
) -> ExitCode:
    """Signal the run; `coterie status` shows the effect."""
    run = await _existing_run(settings, id)
    await send_control(run, what, by, why)
    say(f"{id}: {what} requested by {by}")
    return ExitCode.DONE


async def amend(
    settings: Settings, id: str, written: Sequence[WrittenSetting], by: str, why: str
) -> ExitCode:
    """Change the run's context at its next step."""
    client = (await open_connection(settings)).client
    run = Run(client, id)
    await run.describe()
    updates = read_updates(written, await declared_context(client, id))
    await run.amend(AmendInput(updates=updates, by=by, why=why))
    say(f"{id}: {', '.join(updates)} will be set at the next step")
    return ExitCode.DONE


async def redirect(settings: Settings, id: str, team: str, by: str, why: str) -> ExitCode:
    """Send the run to another team when its current one ends."""
    run = await _existing_run(settings, id)
    await run.redirect(RedirectInput(team=team, by=by, why=why))
    say(f"{id}: {team} comes next")
    return ExitCode.DONE


async def skip(settings: Settings, id: str, asked: SkipInput) -> ExitCode:
    """Skip a task."""
    run = await _existing_run(settings, id)
    say(decision_text(await run.skip(asked)))
    return ExitCode.DONE


async def cancel(settings: Settings, id: str, by: str, why: str) -> ExitCode:
    """Cancel the run, wait for its cleanup, and print its result."""
    run = Run((await open_connection(settings)).client, id)
    description = await run.describe()
    if description.status != WorkflowExecutionStatus.RUNNING:
        raise has_ended(id)
    await send_cancel(run, by, why)
    note(f"{id} is cancelled; waiting for its cleanup (Ctrl-C stops only the waiting)")
    say(end_text(id, await run.end()))
    return ExitCode.DONE


async def _existing_run(settings: Settings, id: str) -> Run:
    """Return a run that exists on the server."""
    run = Run((await open_connection(settings)).client, id)
    await run.describe()
    return run
