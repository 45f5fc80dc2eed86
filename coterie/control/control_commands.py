"""Commands that hold a run, let it go on, change its context, and stop it."""

from datetime import timedelta
from typing import Literal

from pydantic import BaseModel
from temporalio.client import (
    WorkflowExecutionStatus,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from coterie.failures import CommandError, ExitCode
from coterie.rendering.run_text import decision_text, end_text
from coterie.runs.run_client import Run, updated
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import note, say
from dsl.values import Json
from workflows.core.messages import AmendInput, Control, RedirectInput, SkipInput

_ANSWER_SECONDS = timedelta(seconds=10)


async def control(
    settings: Settings, id: str, what: Literal["pause", "resume"], by: str, why: str
) -> ExitCode:
    """Signal the run; what it means there is told by `coterie status`."""
    run = Run((await open_connection(settings)).client, id)
    described = (await run.describe()).raw_description
    if what == "pause" and described.workflow_extended_info.cancel_requested:
        raise CommandError(
            f"the run {id!r} is cancelled: what it still does has its time, and is not paused",
            ExitCode.RUN_FAILED,
        )
    try:
        await run.handle.signal(what, Control(by=by, why=why))
    except RPCError as error:
        raise _unreported(id, error) from None
    say(f"{id}: {what} is asked for by {by}")
    return ExitCode.DONE


async def amend(settings: Settings, id: str, updates: Json, by: str, why: str) -> ExitCode:
    """Change the run's context at its next step."""
    await _update(settings, id, "amend", AmendInput(updates=updates, by=by, why=why))
    say(f"{id}: {', '.join(updates)} will be set at the next step")
    return ExitCode.DONE


async def redirect(settings: Settings, id: str, team: str, by: str, why: str) -> ExitCode:
    """Send the run to another team when its current one ends."""
    await _update(settings, id, "redirect", RedirectInput(team=team, by=by, why=why))
    say(f"{id}: {team} comes next")
    return ExitCode.DONE


async def skip(settings: Settings, id: str, asked: SkipInput) -> ExitCode:
    """Leave a task out."""
    run = Run((await open_connection(settings)).client, id)
    await run.describe()
    say(decision_text(await run.skip(asked)))
    return ExitCode.DONE


async def cancel(settings: Settings, id: str, by: str, why: str) -> ExitCode:
    """Cancel the run, wait until it has cleaned up, and show what it came to."""
    run = Run((await open_connection(settings)).client, id)
    description = await run.describe()
    if description.status != WorkflowExecutionStatus.RUNNING:
        raise CommandError(
            f"the run {id!r} has ended already; see it with `coterie result {id}`",
            ExitCode.RUN_FAILED,
        )
    try:
        await run.handle.cancel(reason=f"by {by}: {why}" if why else f"by {by}")
    except RPCError as error:
        raise _unreported(id, error) from None
    note(f"{id} is cancelled; waiting until it has cleaned up (Ctrl-C stops only the waiting)")
    say(end_text(id, await run.end()))
    return ExitCode.DONE


async def _update(settings: Settings, id: str, name: str, asked: BaseModel) -> None:
    """Ask the run for a change.

    Raises:
        CommandError: it refuses, or nobody answers.
    """
    run = Run((await open_connection(settings)).client, id)
    await run.describe()
    try:
        await updated(run, name, asked, object)
    except WorkflowUpdateFailedError as error:
        cause = error.cause
        said = cause.message if isinstance(cause, ApplicationError) else str(cause)
        raise CommandError(f"the run refuses this: {said}", ExitCode.RUN_FAILED) from None
    except WorkflowUpdateRPCTimeoutOrCancelledError:
        raise CommandError(f"no worker answers for the run {id!r}") from None
    except RPCError as error:
        raise _unreported(id, error) from None


def _unreported(id: str, error: RPCError) -> CommandError:
    """Why a run could not be told."""
    if error.status == RPCStatusCode.NOT_FOUND and "completed" in error.message:
        told = f"the run {id!r} has ended; see what it came to with `coterie result {id}`"
        return CommandError(told, ExitCode.RUN_FAILED)
    return CommandError(f"the run {id!r} cannot be told: {error}")
