"""Commands that start a run in the middle of another: at a chosen visit, or where it failed."""

import asyncio
from collections.abc import Sequence
from shlex import quote

from temporalio.client import Client, WorkflowExecutionStatus

from coterie.argument_values import WrittenSetting, read_updates
from coterie.control.fork_point import fork_hint
from coterie.dsl.model.context.declarations import UNDECLARED
from coterie.dsl.values import Json
from coterie.failures import CommandError, ExitCode
from coterie.logs import quietly
from coterie.rendering.request_text import decision_text
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.histories.recorded_plans import declared_context, started_name
from coterie.runs.new_runs import start_run
from coterie.runs.records import find, kept, new_id
from coterie.runs.run_client import Run
from coterie.server.connection import Connection, open_connection
from coterie.settings import Settings
from coterie.storage.wire import text_of
from coterie.terminal import note, say
from coterie.workflows.core.memo_keys import FORKED_FROM
from coterie.workflows.core.messages import AmendInput, ForkInput, RetryInput, TeamInput

_LOOKS = 60
_BETWEEN = 0.3
"""Seconds between two checks whether a worker has found the point."""


async def retry(
    settings: Settings,
    id: str,
    asked: RetryInput,
    written: Sequence[WrittenSetting],
    new: str | None,
) -> ExitCode:
    """Retry a waiting failed task; for a failed run, start another one where it failed."""
    quietly(settings)
    connection = await open_connection(settings)
    run = Run(connection.client, id)
    description = await run.describe()
    updates = await _updates(connection.client, id, written)
    if description.status == WorkflowExecutionStatus.RUNNING:
        if new is not None:
            raise CommandError(f"run {id!r} is still open: `--id` applies only to finished runs")
        if updates:
            await run.amend(AmendInput(updates=updates, by=asked.by, why=asked.why))
        say(decision_text(await run.retry(asked)))
        return ExitCode.DONE
    if asked.task is not None:
        raise CommandError(
            f"run {id!r} has ended: `retry` starts another run where it failed, so name no task; "
            f"to start elsewhere: {await fork_hint(connection.client, id, description.run_id)}"
        )
    if description.status != WorkflowExecutionStatus.FAILED:
        raise CommandError(
            f"run {id!r} has not failed; to start another run at one of its visits: "
            f"{await fork_hint(connection.client, id, description.run_id)}"
        )
    fork_input = ForkInput(run=id, updates=updates, by=asked.by, why=asked.why)
    return await _begin_fork(settings, connection, fork_input, new)


async def fork(
    settings: Settings, asked: ForkInput, written: Sequence[WrittenSetting], new: str | None
) -> ExitCode:
    """Start another run at a visit of one, open or finished."""
    quietly(settings)
    connection = await open_connection(settings)
    updates = await _updates(connection.client, asked.run, written)
    return await _begin_fork(
        settings, connection, asked.model_copy(update={"updates": updates}), new
    )


async def _updates(client: Client, run: str, assignments: Sequence[WrittenSetting]) -> Json:
    """Return the changes of a run's context, as its plan declares them."""
    declarations = await declared_context(client, run) if assignments else UNDECLARED
    return read_updates(assignments, declarations)


async def _begin_fork(
    settings: Settings, connection: Connection, fork_input: ForkInput, new: str | None
) -> ExitCode:
    """Start it where the other run was served, and wait until a worker has found the point."""
    description = await Run(connection.client, fork_input.run).describe()
    queue = description.task_queue
    team = await started_name(connection.client, description)
    id = new or new_id(fork_input.run)
    team_input = TeamInput(fork=fork_input.model_copy(update={"run_id": description.run_id}))
    try:
        record = find(settings, fork_input.run).model_copy(update={"id": id})
    except CommandError:
        run = await start_run(connection.client, id, team_input, task_queue=queue, summary=team)
        serve = "coterie worker"
    else:
        with kept(settings, record):
            run = await start_run(connection.client, id, team_input, task_queue=queue, summary=team)
        serve = f"coterie run --resume {quote(id)}"
        if fork_input.message is not None:
            serve = f"coterie chat --session {quote(id)}"
    say(id)
    ui = connection.ui_of(id)
    if ui:
        note(ui)
    await _print_point(run, serve)
    return ExitCode.DONE


async def _print_point(run: Run, serve: str) -> None:
    """Print where it starts, or why it cannot."""
    for _ in range(_LOOKS):
        description = await run.describe()
        memo = description.raw_description.workflow_execution_info.memo.fields
        if FORKED_FROM in memo:
            note(f"{run.id} continues from {text_of(memo[FORKED_FROM])}")
            return
        if description.status == WorkflowExecutionStatus.FAILED:
            raise CommandError(incomplete_reason(await run.end()), ExitCode.RUN_FAILED)
        await asyncio.sleep(_BETWEEN)
    note(f"no worker has picked up {run.id} yet; serve it: {serve}")
