"""Start a run in the middle of another: at a chosen visit, or where it failed."""

import asyncio
from dataclasses import dataclass
from shlex import quote

from temporalio.client import Client, WorkflowExecutionStatus

from coterie.control.fork_point import fork_hint
from coterie.dsl.values import Json
from coterie.failures import CommandError, ExitCode
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.histories.recorded_plans import started_name
from coterie.runs.new_runs import start_run
from coterie.runs.records import find, kept, new_id
from coterie.runs.run_client import MessageSigner, Run
from coterie.settings import Settings
from coterie.storage.wire import text_of
from coterie.workflows.core.memo_keys import FORKED_FROM
from coterie.workflows.core.messages import AmendInput, ForkInput, RetryInput, TeamInput
from coterie.workflows.core.requests import Decision

_LOOKS = 60
_BETWEEN = 0.3
"""Seconds between two checks whether a worker has found the point."""


@dataclass(frozen=True, slots=True)
class NewFork:
    """A run that starts in the middle of another."""

    run: Run
    serve: str
    """The command that serves it where no worker does."""


async def retry_or_fork(
    settings: Settings,
    client: Client,
    id: str,
    asked: RetryInput,
    updates: Json,
    new: str | None,
    signer: MessageSigner | None = None,
    update_id: str | None = None,
) -> Decision | NewFork:
    """Retry a waiting failed task; for a failed run, start another one where it failed.

    Args:
        settings: The project, which may have started the run.
        client: Of the run's server.
        id: Of the run.
        asked: The task, if the run is open.
        updates: Changes to the context.
        new: Id of another run; None to generate one.
        signer: Signs what is sent to an open run.
        update_id: Of an open run: sent again with this id, it is retried once.

    Raises:
        CommandError: The run has not failed, or nothing waits to be retried.
    """
    run = Run(client, id)
    run.signer = signer
    description = await run.describe()
    if description.status == WorkflowExecutionStatus.RUNNING:
        if new is not None:
            raise CommandError(f"run {id!r} is still open: `--id` applies only to finished runs")
        if updates:
            await run.amend(AmendInput(updates=updates, by=asked.by, why=asked.why))
        return await run.retry(asked, update_id=update_id)
    if asked.task is not None:
        raise CommandError(
            f"run {id!r} has ended: `retry` starts another run where it failed, so name no task; "
            f"to start elsewhere: {await fork_hint(client, id, description.run_id)}"
        )
    if description.status != WorkflowExecutionStatus.FAILED:
        raise CommandError(
            f"run {id!r} has not failed; to start another run at one of its visits: "
            f"{await fork_hint(client, id, description.run_id)}"
        )
    fork_input = ForkInput(run=id, updates=updates, by=asked.by, why=asked.why)
    return await begin_fork(settings, client, fork_input, new)


async def begin_fork(
    settings: Settings, client: Client, fork_input: ForkInput, new: str | None
) -> NewFork:
    """Start a run at a visit of another, where that one was served.

    Raises:
        CommandError: The run does not exist, or the id is taken.
    """
    description = await Run(client, fork_input.run).describe()
    queue = description.task_queue
    team = await started_name(client, description)
    id = new or new_id(fork_input.run)
    team_input = TeamInput(fork=fork_input.model_copy(update={"run_id": description.run_id}))
    try:
        record = find(settings, fork_input.run).model_copy(update={"id": id})
    except CommandError:
        run = await start_run(client, id, team_input, task_queue=queue, summary=team)
        return NewFork(run, "coterie worker")
    with kept(settings, record):
        run = await start_run(client, id, team_input, task_queue=queue, summary=team)
    if fork_input.message is not None:
        return NewFork(run, f"coterie chat --session {quote(id)}")
    return NewFork(run, f"coterie run --resume {quote(id)}")


async def origin_of(run: Run, looks: int = _LOOKS) -> str | None:
    """Return the point where a fork starts; None if no worker has found it in time.

    Raises:
        CommandError: It cannot start there.
    """
    for _ in range(looks):
        description = await run.describe()
        memo = description.raw_description.workflow_execution_info.memo.fields
        if FORKED_FROM in memo:
            return text_of(memo[FORKED_FROM])
        if description.status == WorkflowExecutionStatus.FAILED:
            raise CommandError(incomplete_reason(await run.end()), ExitCode.RUN_FAILED)
        await asyncio.sleep(_BETWEEN)
    return None
