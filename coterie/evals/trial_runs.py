"""Run one trial: an ordinary durable run with its own workspace and its own worker.

A repeated call finds the run that an earlier one started, and continues it.
"""

import asyncio
import shutil
import time
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime
from pathlib import Path

from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from coterie.activities.tool_functions.knowledge.knowledge_index import update_index
from coterie.activities.tool_functions.knowledge.stores import INDEX_FILE, opened
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.globs import Globs
from coterie.display.decider import Decider
from coterie.display.following.follower import Watch
from coterie.documents.compilation import CompiledDocument
from coterie.documents.worker_trust import key_names
from coterie.dsl.model.sections.worker_document import TEST_ROOT
from coterie.evals.suite import Trial
from coterie.evals.trial_end import Stop, TrialEnd, trial_end
from coterie.evals.unattended_view import UnattendedView
from coterie.failures import CommandError
from coterie.runs.call_errors import call_error
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.histories.exchanges import all_exchanges
from coterie.runs.new_runs import start_run
from coterie.runs.records import RunRecord, kept, queue_of
from coterie.runs.run_client import Run
from coterie.runs.sessions import MessageRefusedError, send_message
from coterie.server.connection import Connection
from coterie.settings import Settings
from coterie.testing.simulation.simulated_signer import SimulatedSigner
from coterie.testing.simulation.stage import furnish
from coterie.worker.run_worker import run_worker
from coterie.worker.surroundings import workspace_of
from coterie.workflows.core.messages import SessionInput, TeamInput

_BY = "eval"
"""Who writes the messages of a session."""


async def run_trial(
    settings: Settings, connection: Connection, trial: Trial, folder: Path
) -> TrialEnd:
    """Run or continue a trial to its end.

    Args:
        settings: Environment of the command.
        connection: To the server.
        trial: The trial.
        folder: Its own folder, for its workspace.

    Raises:
        CommandError: The workspace cannot be made, or the server does not answer.
    """
    await asyncio.to_thread(_create_workspace, trial, folder, settings)
    document = trial.variant.document
    record = record_of(trial.run_id, document, folder / "workspace")
    team_input = TeamInput(
        plan=document.compiled.plan, context=trial.context, marked=record.trusted.sets_visibility
    )
    summary = f"{trial.case.name} #{trial.repeat}"
    async with attending(settings, connection, record):
        run = await begun(settings, connection, record, team_input, summary)
        return await _Attendance(connection, run, trial).end()


def _create_workspace(trial: Trial, folder: Path, settings: Settings) -> None:
    """Create the workspace completely, or not at all, so that a crash leaves no half of one."""
    workspace = folder / "workspace"
    if workspace.exists():
        return
    draft = folder / "draft"
    shutil.rmtree(draft, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    furnish(draft, trial.suite.workspace, trial.files)
    if trial.suite.document.index:
        _index(trial, draft, settings)
    draft.rename(workspace)


def _index(trial: Trial, draft: Path, settings: Settings) -> None:
    """Index the texts that the trial's `Retriever.search` finds.

    Raises:
        CommandError: A text to index does not exist, or cannot be read.
    """
    trusted = trial.variant.document.trusted.model_copy(update={"workspace": str(draft)})
    workspace = workspace_of(trusted, settings)
    try:
        with opened(workspace.state_dir / INDEX_FILE, "coterie eval") as store:
            for name in trial.suite.document.index:
                path = workspace.inside(name)
                if not path.exists():
                    raise CommandError(f"`index` names {name}, which the workspace has not")
                source = path.name if name != "." else trial.suite.document.name
                globs = Globs.of((), ())
                update_index(
                    store,
                    path,
                    source,
                    globs,
                    workspace.state_dir,
                    time.time(),
                    lambda path, number, count: None,
                )
    except (FunctionFailure, FunctionRefusal) as error:
        raise CommandError(str(error)) from None


def record_of(run_id: str, document: CompiledDocument, workspace: Path) -> RunRecord:
    """Return the record of a run: what its own worker may touch."""
    update: dict[str, str] = {"workspace": str(workspace)}
    if document.trusted.decisions_root is not None:
        update["decisions_root"] = TEST_ROOT  # nobody signs trials with a key of their own
    trusted = document.trusted.model_copy(update=update)
    return RunRecord(
        id=run_id,
        task_queue=queue_of(trusted),
        trusted=trusted,
        keys=key_names(document.compiled.plan, document.trusted),
        plan=document.compiled.plan.with_digest().digest,
        begun=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def attending(
    settings: Settings, connection: Connection, record: RunRecord
) -> AbstractAsyncContextManager[Worker]:
    """Serve the queue of one run within the block."""
    return run_worker(connection.client, settings, record)


async def begun(
    settings: Settings, connection: Connection, record: RunRecord, given: TeamInput, summary: str
) -> Run:
    """Start a run, or find the one that an earlier command started.

    Raises:
        CommandError: The input exceeds the limits of the server, or it does not answer.
    """
    run = Run(connection.client, record.id)
    try:
        await run.handle.describe()
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise call_error(record.id, error) from None
    else:
        return run
    with kept(settings, record):
        return await start_run(
            connection.client, record.id, given, task_queue=record.task_queue, summary=summary
        )


class _Attendance:
    """Stays with one run to its end, and decides what the suite says."""

    def __init__(self, connection: Connection, run: Run, trial: Trial) -> None:
        self._client = connection.client
        self._run = run
        self._trial = trial
        self._view = UnattendedView()
        if trial.variant.document.trusted.decisions_root is not None:
            run.signer = SimulatedSigner(datetime.now(UTC))

    async def end(self) -> TrialEnd:
        """Wait for the end; end the run if it asks what nobody decides, or takes too long."""
        decisions = self._trial.suite.document.decisions
        decider = Decider(self._run, self._view, decisions, interactive=False)
        ended = asyncio.create_task(Watch(self._run, self._view, decider).until_end())
        question = asyncio.create_task(self._view.asked.wait())
        talk = asyncio.create_task(self._talk())
        tasks = (ended, question, talk)
        try:
            stop, message = await self._first(ended, question, talk)
            if not ended.done():
                await self._cancel(message or "the session has answered everything")
            return await self._result(await ended, stop, message)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _first(
        self,
        ended: "asyncio.Task[RunEnd]",
        question: "asyncio.Task[bool]",
        talk: "asyncio.Task[None]",
    ) -> tuple[Stop, str]:
        """Wait for what comes first: the end, an open request, the last reply, the timeout."""
        waited: list[asyncio.Task[RunEnd] | asyncio.Task[bool] | asyncio.Task[None]] = [
            ended,
            question,
        ]
        if self._trial.case.messages:
            waited.append(talk)
        timeout = self._trial.suite.document.timeout
        await asyncio.wait(waited, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            return "ended", ""
        if question.done():
            return "request", f"nobody decides {self._view.request}: no entry of `decisions` fits"
        if talk in waited and talk.done():
            await talk
            return "ended", ""
        return "timeout", f"the trial took longer than {timeout:g} s"

    async def _talk(self) -> None:
        """Send the messages; one that was sent before keeps its id, and is answered again."""
        for number, message in enumerate(self._trial.case.messages, start=1):
            session_input = SessionInput(message=message, by=_BY)
            try:
                await send_message(self._run, session_input, f"{self._run.id}-{number}")
            except MessageRefusedError:
                return  # the replies are not complete, which the result says

    async def _cancel(self, reason: str) -> None:
        with suppress(CommandError):  # it has ended meanwhile
            await self._run.cancel(reason)

    async def _result(self, end: RunEnd, stop: Stop, message: str) -> TrialEnd:
        described = await self._run.describe()
        began = await self._run.began(described)
        closed = described.close_time
        seconds = 0.0 if closed is None else round((closed - began).total_seconds(), 3)
        if not self._trial.case.messages:
            cancelled = described.status == WorkflowExecutionStatus.CANCELED
            by_us = stop != "ended" and cancelled
            return trial_end(end, seconds, stop=stop if by_us else "ended", message=message)
        exchanged = await all_exchanges(self._client, self._run.id)
        replies = tuple(
            exchange.reply for exchange in exchanged if exchange.answered and not exchange.error
        )
        whole = len(replies) == len(self._trial.case.messages)
        missing = f"it answered {len(replies)} of {len(self._trial.case.messages)} messages"
        ending = trial_end(
            end, seconds, stop=stop, message=message or missing, replies=replies if whole else None
        )
        return (
            ending if whole else ending.model_copy(update={"replies": replies, "completed": False})
        )
