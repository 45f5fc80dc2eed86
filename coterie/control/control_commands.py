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
from coterie.runs.histories.recorded_plans import declared_context
from coterie.runs.run_client import MessageSigner, Run
from coterie.runs.run_waits import standing_reached, wait_for
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.workflows.core.messages import AmendInput, RedirectInput, SayInput, SkipInput
from coterie.workflows.core.views import Standing

_PAUSED: frozenset[Standing] = frozenset({"paused"})
_RESUMED: frozenset[Standing] = frozenset({"running", "waiting", "stopping", "done", "cancelled"})


async def control(
    settings: Settings,
    id: str,
    what: Literal["pause", "resume"],
    by: str,
    why: str,
    within: float | None,
) -> ExitCode:
    """Signal the run, and wait until it is paused or resumed.

    Raises:
        CommandError: It is not, in time.
    """
    run = await _existing_run(settings, id)
    await send_control(run, what, by, why)
    if within == 0:
        say(f"{id}: {what} requested by {by}")
        return ExitCode.DONE
    standings = _PAUSED if what == "pause" else _RESUMED
    still = f"{id}: {what} requested by {by}, and not yet done"
    state = await wait_for(run, standing_reached(run, standings), within, still)
    say(f"{id}: {state}, {what} requested by {by}")
    return ExitCode.DONE


async def amend(
    settings: Settings,
    id: str,
    written: Sequence[WrittenSetting],
    by: str,
    why: str,
    signer: MessageSigner | None = None,
) -> ExitCode:
    """Change the run's context at its next step."""
    client = (await open_connection(settings)).client
    run = Run(client, id)
    run.signer = signer
    await run.describe()
    updates = read_updates(written, await declared_context(client, id))
    await run.amend(AmendInput(updates=updates, by=by, why=why))
    say(f"{id}: {', '.join(updates)} will be set at the next step")
    return ExitCode.DONE


async def tell(
    settings: Settings, id: str, asked: SayInput, signer: MessageSigner | None = None
) -> ExitCode:
    """Tell an agent at work something."""
    run = await _existing_run(settings, id)
    run.signer = signer
    say(f"{id}: {await run.say(asked)} reads it at its next turn")
    return ExitCode.DONE


async def redirect(
    settings: Settings,
    id: str,
    team: str,
    by: str,
    why: str,
    signer: MessageSigner | None = None,
) -> ExitCode:
    """Send the run to another team when its current one ends."""
    run = await _existing_run(settings, id)
    run.signer = signer
    await run.redirect(RedirectInput(team=team, by=by, why=why))
    say(f"{id}: {team} comes next")
    return ExitCode.DONE


async def skip(
    settings: Settings, id: str, asked: SkipInput, signer: MessageSigner | None = None
) -> ExitCode:
    """Skip a task."""
    run = await _existing_run(settings, id)
    run.signer = signer
    say(decision_text(await run.skip(asked)))
    return ExitCode.DONE


async def cancel(settings: Settings, id: str, by: str, why: str, within: float | None) -> ExitCode:
    """Cancel the run, wait for its cleanup, and print its result.

    Raises:
        CommandError: It has not ended in time.
    """
    run = Run((await open_connection(settings)).client, id)
    description = await run.describe()
    if description.status != WorkflowExecutionStatus.RUNNING:
        raise has_ended(id)
    await send_cancel(run, by, why)
    if within == 0:
        say(f"{id}: cancel requested by {by}")
        return ExitCode.DONE
    note(f"{id} is cancelled; waiting for its cleanup (Ctrl-C stops only the waiting)")
    say(end_text(id, await wait_for(run, run.end(), within, f"{id} has not ended yet")))
    return ExitCode.DONE


async def _existing_run(settings: Settings, id: str) -> Run:
    """Return a run that exists on the server."""
    run = Run((await open_connection(settings)).client, id)
    await run.describe()
    return run
