"""Talk to a session at the terminal: its own worker, messages in, replies out."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import join, quote
from time import monotonic
from typing import Any
from uuid import uuid4

from pydantic import JsonValue
from temporalio.client import Client, WorkflowExecutionStatus

from coterie.display.decider import Decider
from coterie.display.following.plain_view import PlainView
from coterie.display.keyboard import ask_text
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.dsl.visible import one_line
from coterie.failures import CommandError, ExitCode
from coterie.logs import to_file
from coterie.rendering.commit_diffs import CommitDiffs
from coterie.runs.histories.exchanges import all_exchanges
from coterie.runs.histories.history_events import started
from coterie.runs.live_texts import POLL_SECONDS, LiveAnswer, TextFollower, live_answers, streams
from coterie.runs.records import RunRecord, kept
from coterie.runs.run_client import Run
from coterie.runs.run_view import RunNews
from coterie.runs.sessions import MessageRefusedError, open_session, send_message
from coterie.server.connection import Connection, open_connection
from coterie.settings import Settings
from coterie.terminal import note, say, say_part
from coterie.text.problems import counted
from coterie.worker.run_worker import run_worker
from coterie.workflows.core.memo_keys import FORKED_FROM
from coterie.workflows.core.messages import SessionInput, TeamInput
from coterie.workflows.core.views import Paused
from coterie.workflows.sessions.message_queue import NO_REPLY


class ReplyText:
    """Prints one reply, each of its characters once where a model writes it for all to see."""

    def __init__(self) -> None:
        self._follower = TextFollower()
        self._call = ""
        self._written = ""
        """The text of the answer in progress that stands on the terminal."""

    def writing(self, answers: Sequence[LiveAnswer]) -> None:
        """Print the new text of the answers in progress."""
        for piece in self._follower.pieces(answers):
            if piece.begins or piece.answer.call != self._call:
                self._end_line()
                self._call = piece.answer.call
                if piece.answer.tail.attempt > 1:
                    say(f"[attempt {piece.answer.tail.attempt}]")
            gap = f"[... {piece.missed:,} characters ...]" if piece.missed else ""
            self._written += f"{gap}{piece.text}"
            say_part(f"{gap}{piece.text}")

    def interrupt(self) -> None:
        """Leave the terminal to others: what follows begins on a new line."""
        self._end_line()

    def end(self, reply: JsonValue) -> None:
        """Print the rest of the reply, or all of it if the terminal shows another text."""
        text = shown(reply)
        if self._written and text.startswith(self._written):
            say(text[len(self._written) :])
        else:
            self._end_line()
            say(text)
        self._written = ""

    def _end_line(self) -> None:
        if self._written:
            say()
        self._written = ""


def shown(value: JsonValue) -> str:
    """Return a message or reply for the terminal: a text as it is, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_IDLE_SECONDS = 0.3
_STATUS_SECONDS = 0.8


class ChatView(PlainView):
    """Shows requests as lines between the replies."""

    def __init__(self, run: str, text: ReplyText, workspace: Path | None = None) -> None:
        super().__init__(run, workspace=workspace)
        self._reply = text
        self._paused: Paused | None = None

    def note_pause(self, paused: Paused | None) -> None:
        """Say once that the session is paused, and once that it continues."""
        if paused == self._paused:
            return
        self._paused = paused
        self._reply.interrupt()
        if paused is None:
            note("the session continues")
            return
        why = f": {one_line(paused.why)}" if paused.why else ""
        by, again = one_line(paused.by), f"coterie resume {quote(self._run)}"
        note(f"the session is paused by {by}{why}; to continue it: {again}")

    def progress(self, news: RunNews) -> None:
        """Show nothing: a chat has messages and replies."""

    def writing(self, answers: Sequence[LiveAnswer]) -> None:
        """Print the new text of the reply."""
        self._reply.writing(answers)

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Ask on a line of its own."""
        self._reply.interrupt()
        yield


async def awaited(
    run: Run,
    sending: Coroutine[Any, Any, JsonValue],
    workspace: Path,
    *,
    interactive: bool,
) -> tuple[JsonValue, ReplyText]:
    """Return the reply, and the text that the terminal already shows.

    Args:
        run: The session.
        sending: Sends the message, and returns its reply.
        workspace: Folder of the files that the run changes.
        interactive: A person can read the text in progress, and decide requests.

    Raises:
        MessageRefusedError: The session refuses the message, or ends without a reply.
    """
    text = ReplyText()
    view = ChatView(run.id, text, workspace)
    decider = Decider(run, view, (), interactive=interactive, workspace=workspace)
    task = asyncio.create_task(sending)
    try:
        last_look = monotonic()
        while not task.done():
            pause = _IDLE_SECONDS
            with suppress(CommandError):  # not begun yet, or nobody serves it for a moment
                description = await run.describe()
                if interactive and streams(description):
                    view.writing(await live_answers(description, {}))
                    pause = POLL_SECONDS
                if monotonic() - last_look > _STATUS_SECONDS:
                    last_look = monotonic()
                    status = await run.status()
                    view.note_pause(status.paused)
                    await decider.consider(await run.pending() if status.waiting_for else ())
            await asyncio.wait([task], timeout=pause)
        return await task, text
    finally:
        await decider.close()
        if not task.done():
            task.cancel()
            await asyncio.wait([task])


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
            session_input = SessionInput(message=message, by=by)
            if begin is None:
                await talk.exchange(send_message(talk.run, session_input, str(uuid4())))
            else:
                await talk.exchange(
                    _open_session(settings, connection, record, begin, session_input)
                )
                begin = None
            if script is None and await talk.has_ended():
                break
        if begin is None:
            has_ended = await talk.has_ended()
            note(f"the session {record.id} has ended" if has_ended else stays_open(record.id))
    return ExitCode.DONE


async def _resume(talk: "_Talk", client: Client, shown_messages: int) -> bool:
    """Show where a session stands; return whether it takes more messages."""
    await _found_its_point(talk.run)
    count = await talk.catch_up(client, shown_messages)
    if not (await talk.has_ended() and talk.script is None):
        return True
    again = join(("coterie", "fork", talk.run.id, "--message", str(count + 1)))
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
        description = await self.run.describe()
        return description.status != WorkflowExecutionStatus.RUNNING

    async def catch_up(self, client: Client, maximum: int) -> int:
        """Print the latest messages and replies, and wait for the replies that are missing.

        Returns:
            How many messages the session has had.
        """
        exchanges = await all_exchanges(client, self.run.id)
        older = len(exchanges) - maximum
        if older > 0:
            note(f"{counted(older, 'earlier message')}; to print more: --history {len(exchanges)}")
        for exchange in exchanges[max(older, 0) :]:
            say(f"> {shown(exchange.message)}")
            if exchange.answered:
                say(f"! {exchange.error}" if exchange.error else shown(exchange.reply))
            else:
                session_input = SessionInput(message=exchange.message, by=exchange.by)
                await self.exchange(send_message(self.run, session_input, exchange.id))
        return len(exchanges)


async def _found_its_point(run: Run) -> None:
    """Wait until a session that was forked has what came before it."""
    if started(await run.history()).input.fork is None:
        return
    for _ in range(_LOOKS):
        description = await run.describe()
        running = description.status == WorkflowExecutionStatus.RUNNING
        memo = description.raw_description.workflow_execution_info.memo.fields
        if not running or FORKED_FROM in memo:
            return
        await asyncio.sleep(_BETWEEN)


async def _open_session(
    settings: Settings,
    connection: Connection,
    record: RunRecord,
    begin: tuple[Plan, Json],
    session_input: SessionInput,
) -> JsonValue:
    """Start the session with its first message."""
    plan, context = begin
    team_input = TeamInput(plan=plan, context=context, marked=record.trusted.sets_visibility)
    with kept(settings, record):
        return await open_session(
            connection.client,
            record.id,
            team_input,
            session_input,
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
