"""Wait for the reply to a message: show its text in progress, and decide what waits for a person.

A reply may take any time: an agent works, a person has to approve. The session itself needs none of
this: the reply is there later as well.
"""

import asyncio
from collections.abc import Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from time import monotonic
from typing import Any

from pydantic import JsonValue

from coterie.display.decider import Decider
from coterie.display.following.plain_view import PlainView
from coterie.display.reply_text import ReplyText
from coterie.dsl.visible import one_line
from coterie.failures import CommandError
from coterie.runs.live_texts import POLL_SECONDS, LiveAnswer, live_answers, streams
from coterie.runs.run_client import Run
from coterie.runs.run_view import RunNews
from coterie.terminal import note
from coterie.workflows.core.views import Paused

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
    sent = asyncio.create_task(sending)
    try:
        looked = monotonic()
        while not sent.done():
            pause = _IDLE_SECONDS
            with suppress(CommandError):  # not begun yet, or nobody serves it for a moment
                described = await run.describe()
                if interactive and streams(described):
                    view.writing(await live_answers(described, {}))
                    pause = POLL_SECONDS
                if monotonic() - looked > _STATUS_SECONDS:
                    looked = monotonic()
                    status = await run.status()
                    view.note_pause(status.paused)
                    await decider.consider(await run.pending() if status.waiting_for else ())
            await asyncio.wait([sent], timeout=pause)
        return await sent, text
    finally:
        await decider.close()
        if not sent.done():
            sent.cancel()
            await asyncio.wait([sent])
