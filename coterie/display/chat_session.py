"""Talk to a session at the terminal: its own worker, messages in, replies out."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import join, quote
from typing import Any
from uuid import uuid4

from pydantic import JsonValue
from temporalio.client import Client, WorkflowExecutionStatus

from coterie.display.keyboard import ask_text
from coterie.display.reply_text import shown
from coterie.display.reply_wait import awaited
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.failures import CommandError, ExitCode
from coterie.logs import to_file
from coterie.rendering.commit_diffs import CommitDiffs
from coterie.runs.histories.exchanges import all_exchanges
from coterie.runs.histories.history_links import begun_with
from coterie.runs.records import RunRecord, kept
from coterie.runs.run_client import Run
from coterie.runs.sessions import MessageRefusedError, open_session, send_message
from coterie.server.connection import Connection, open_connection
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.text.problems import counted
from coterie.worker.run_worker import run_worker
from coterie.workflows.core.memo_keys import FORKED_FROM
from coterie.workflows.core.messages import SessionInput, TeamInput
from coterie.workflows.sessions.message_queue import NO_REPLY

_LOOKS, _BETWEEN = 200, 0.3
"""How often to look whether a fork has begun, and the seconds between."""


async def chat(
    settings: Settings,
    record: RunRecord,
    begin: tuple[Plan, Json] | None,
    by: str,
    script: Sequence[JsonValue] | None,
    shown_messages: int,
) -> ExitCode:
    """Serve a session, and send it messages until there are no more.

    Args:
        settings: Environment of the command.
        record: What is needed to serve the session.
        begin: Plan and context of a new session, which starts with the first message; None to
            return to one.
        by: Who writes.
        script: The messages; None to ask the person at the terminal.
        shown_messages: How many earlier messages to print.

    Raises:
        MessageRefusedError: The session refuses a message of the script, or ends without a reply.
    """
    to_file(settings)
    connection = await open_connection(settings, start=True)
    async with run_worker(connection.client, settings, record):
        run = Run(connection.client, record.id, served_here=True)
        folder = Path(record.trusted.workspace)
        run.complete = CommitDiffs(folder, settings.environment).complete
        talk = _Talk(run, by, script, folder)
        if begin is None and not await _resume(talk, connection.client, shown_messages):
            return ExitCode.DONE
        async for message in _messages(script):
            asked = SessionInput(message=message, by=by)
            if begin is None:
                await talk.exchange(send_message(talk.run, asked, str(uuid4())))
            else:
                await talk.exchange(_open_session(settings, connection, record, begin, asked))
                begin = None
            if script is None and await talk.has_ended():
                break
        if begin is None:
            ended = await talk.has_ended()
            note(f"the session {record.id} has ended" if ended else stays_open(record.id))
    return ExitCode.DONE


async def _resume(talk: "_Talk", client: Client, shown_messages: int) -> bool:
    """Show where a session stands; return whether it takes more messages."""
    await _found_its_point(talk.run)
    known = await talk.catch_up(client, shown_messages)
    if not (await talk.has_ended() and talk.script is None):
        return True
    again = join(("coterie", "fork", talk.run.id, "--message", str(known + 1)))
    note(f"the session {talk.run.id} has ended; a new one can continue it: {again}")
    return False


def stays_open(session: str) -> str:
    """Say how to return to a session."""
    back = f"coterie chat --session {quote(session)}"
    return f"the session {session} stays open; return to it: {back}"


@dataclass(frozen=True, slots=True)
class _Talk:
    """One person's side of a session."""

    run: Run
    by: str
    script: Sequence[JsonValue] | None
    workspace: Path
    """Folder of the files that the session changes."""

    async def exchange(self, sending: Coroutine[Any, Any, JsonValue]) -> None:
        """Send a message, and print its reply.

        Raises:
            MessageRefusedError: The session refuses a message of a script, or has ended.
        """
        try:
            reply, text = await awaited(
                self.run, sending, self.workspace, interactive=self.script is None
            )
        except MessageRefusedError as error:
            is_last = self.script is not None or error.code == "RunHasEnded"
            if not is_last:
                note(f"{error.code}: {error}")
            if error.code == NO_REPLY:
                note(f"for every decision and its cause: coterie why {quote(self.run.id)}")
            if is_last:
                raise
        else:
            text.end(reply)

    async def has_ended(self) -> bool:
        """Return whether the session takes no more messages."""
        described = await self.run.describe()
        return described.status != WorkflowExecutionStatus.RUNNING

    async def catch_up(self, client: Client, maximum: int) -> int:
        """Print the latest messages and replies, and wait for the replies that are missing.

        Returns:
            How many messages the session has had.
        """
        known = await all_exchanges(client, self.run.id)
        older = len(known) - maximum
        if older > 0:
            note(f"{counted(older, 'earlier message')}; to print more: --history {len(known)}")
        for one in known[max(older, 0) :]:
            say(f"> {shown(one.message)}")
            if one.answered:
                say(f"! {one.error}" if one.error else shown(one.reply))
            else:
                asked = SessionInput(message=one.message, by=one.by)
                await self.exchange(send_message(self.run, asked, one.id))
        return len(known)


async def _found_its_point(run: Run) -> None:
    """Wait until a session that was forked has what came before it."""
    if begun_with(await run.history()).fork is None:
        return
    for _ in range(_LOOKS):
        described = await run.describe()
        running = described.status == WorkflowExecutionStatus.RUNNING
        memo = described.raw_description.workflow_execution_info.memo.fields
        if not running or FORKED_FROM in memo:
            return
        await asyncio.sleep(_BETWEEN)


async def _open_session(
    settings: Settings,
    connection: Connection,
    record: RunRecord,
    begin: tuple[Plan, Json],
    asked: SessionInput,
) -> JsonValue:
    """Start the session with its first message."""
    plan, context = begin
    given = TeamInput(plan=plan, context=context, marked=record.trusted.sets_visibility)
    with kept(settings, record):
        return await open_session(
            connection.client,
            record.id,
            given,
            asked,
            str(uuid4()),
            task_queue=record.task_queue,
            summary=plan.name,
        )


async def _messages(script: Sequence[JsonValue] | None) -> AsyncIterator[JsonValue]:
    """Yield the messages of the script, or those that the person types."""
    if script is not None:
        for message in script:
            yield message
        return
    note("end a line with \\ to continue in the next one; Ctrl-D leaves the session")
    while True:
        text = await ask_text("> ", ". ")
        if text is None:
            return
        if text:
            yield text


def read_script(text: str, name: str) -> list[JsonValue]:
    """Read the messages of a script: one text per line.

    Raises:
        CommandError: It has none.
    """
    messages: list[JsonValue] = [line for line in text.splitlines() if line.strip()]
    if not messages:
        raise CommandError(f"{name} has no message; write one per line")
    return messages
