"""Commands that start a run in the middle of another: at a chosen visit, or where it failed."""

from collections.abc import Sequence

from coterie.argument_values import WrittenSetting, read_updates
from coterie.control.new_forks import NewFork, begin_fork, origin_of, retry_or_fork
from coterie.dsl.model.context.declarations import UNDECLARED
from coterie.dsl.values import Json
from coterie.failures import ExitCode
from coterie.logs import quietly
from coterie.rendering.request_text import decision_text
from coterie.runs.histories.recorded_plans import declared_context
from coterie.runs.run_client import MessageSigner
from coterie.server.connection import Connection, open_connection
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.workflows.core.messages import ForkInput, RetryInput


async def retry(
    settings: Settings,
    id: str,
    asked: RetryInput,
    written: Sequence[WrittenSetting],
    new: str | None,
    signer: MessageSigner | None = None,
) -> ExitCode:
    """Retry a waiting failed task; for a failed run, start another one where it failed."""
    quietly(settings)
    connection = await open_connection(settings)
    updates = await _updates(connection, id, written)
    retried = await retry_or_fork(settings, connection.client, id, asked, updates, new, signer)
    if isinstance(retried, NewFork):
        await _print_fork(connection, retried)
    else:
        say(decision_text(retried))
    return ExitCode.DONE


async def fork(
    settings: Settings, asked: ForkInput, written: Sequence[WrittenSetting], new: str | None
) -> ExitCode:
    """Start another run at a visit of one, open or finished."""
    quietly(settings)
    connection = await open_connection(settings)
    updates = await _updates(connection, asked.run, written)
    fork_input = asked.model_copy(update={"updates": updates})
    await _print_fork(connection, await begin_fork(settings, connection.client, fork_input, new))
    return ExitCode.DONE


async def _updates(connection: Connection, run: str, assignments: Sequence[WrittenSetting]) -> Json:
    """Return the changes of a run's context, as its plan declares them."""
    declared = await declared_context(connection.client, run) if assignments else UNDECLARED
    return read_updates(assignments, declared)


async def _print_fork(connection: Connection, started: NewFork) -> None:
    """Print the id of a new run, and where it starts.

    Raises:
        CommandError: It cannot start there.
    """
    run = started.run
    say(run.id)
    ui = connection.ui_of(run.id)
    if ui:
        note(ui)
    origin = await origin_of(run)
    if origin is None:
        note(f"no worker has picked up {run.id} yet; serve it: {started.serve}")
    else:
        note(f"{run.id} continues from {origin}")
