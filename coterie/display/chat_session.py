"""Talk to a session at the terminal: its own worker, messages in, replies out."""

import json
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from uuid import uuid4

from pydantic import JsonValue

from coterie.display.keyboard import ask
from coterie.failures import CommandError, ExitCode
from coterie.logs import to_file
from coterie.runs.exchanges import exchanges
from coterie.runs.records import RunRecord, kept
from coterie.runs.run_client import Run
from coterie.runs.sessions import MessageRefusedError, open_session, send_message
from coterie.server.connection import Connection, open_connection
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.worker.workers import working
from dsl.model.plan import Plan
from dsl.values import Json
from workflows.core.messages import SessionInput, TeamInput

_GRACE = timedelta(seconds=10)
_STICKY = timedelta(seconds=2)
_CONTINUES = "\\"
"""At the end of a line: the message continues in the next one."""


async def chat(
    settings: Settings,
    record: RunRecord,
    begin: tuple[Plan, Json] | None,
    by: str,
    script: Sequence[JsonValue] | None,
) -> ExitCode:
    """Serve a session, and send it messages until there are no more.

    Args:
        settings: Environment of the command.
        record: What is needed to serve the session.
        begin: Plan and context of a new session, which starts with the first message; None to
            return to one.
        by: Who writes.
        script: The messages; None to ask the person at the terminal.

    Raises:
        MessageRefusedError: The session refuses a message of the script, or ends without a reply.
    """
    to_file(settings)
    connection = await open_connection(settings, start=True)
    async with working(
        connection.client,
        settings,
        record.trusted,
        task_queue=record.task_queue,
        grace=_GRACE,
        sticky=_STICKY,
    ):
        run = Run(connection.client, record.id)
        if begin is None:
            await run.describe()
            await _show_earlier(run)
        async for message in _messages(script):
            asked = SessionInput(message=message, by=by)
            try:
                if begin is None:
                    reply = await send_message(run, asked, str(uuid4()))
                else:
                    reply = await _opened(settings, connection, record, begin, asked)
                    begin = None
            except MessageRefusedError as error:
                if script is not None or error.code == "RunHasEnded":
                    raise
                note(f"{error.code}: {error}")
            else:
                say(shown(reply))
    if begin is None:
        note(
            f"the session {record.id} stays open; return to it: coterie chat --session {record.id}"
        )
    return ExitCode.DONE


async def _opened(
    settings: Settings,
    connection: Connection,
    record: RunRecord,
    begin: tuple[Plan, Json],
    asked: SessionInput,
) -> JsonValue:
    """Start the session with its first message."""
    plan, context = begin
    given = TeamInput(plan=plan, context=context, marked=record.trusted.marks_runs)
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


async def _show_earlier(run: Run) -> None:
    """Print the messages and replies of the session's latest history."""
    for one in exchanges(await run.history()):
        say(f"> {shown(one.message)}")
        say(f"! {one.error}" if one.error else shown(one.reply))


async def _messages(script: Sequence[JsonValue] | None) -> AsyncIterator[JsonValue]:
    """Yield the messages of the script, or those that the person types."""
    if script is not None:
        for message in script:
            yield message
        return
    note("end a line with \\ to continue in the next one; Ctrl-D leaves the session")
    while True:
        lines: list[str] = []
        while not lines or lines[-1].endswith(_CONTINUES):
            line = await ask("> " if not lines else ". ")
            if line is None:
                return
            lines.append(line)
        text = "\n".join(line.removesuffix(_CONTINUES) for line in lines).strip()
        if text:
            yield text


def shown(value: JsonValue) -> str:
    """Return a message or reply for the terminal: a text as it is, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_script(text: str, name: str) -> list[JsonValue]:
    """Read the messages of a script: one text per line.

    Raises:
        CommandError: It has none.
    """
    messages: list[JsonValue] = [line for line in text.splitlines() if line.strip()]
    if not messages:
        raise CommandError(f"{name} has no message; write one per line")
    return messages
