"""Send a case's messages to a session, and compare the replies."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

from pydantic import JsonValue

from coterie.failures import CommandError
from coterie.runs.run_client import Run
from coterie.runs.sessions import MessageRefusedError, send_message
from coterie.testing.files.case_document import MessageDocument
from coterie.testing.files.expectations import check_text, holds, shown
from coterie.testing.files.short_names import written_forms
from coterie.testing.simulation.scheduled_events import ROUNDED, Scene, ScheduledEvent, Watched
from coterie.workflows.core.messages import SessionInput


@dataclass
class Messages(ScheduledEvent):
    """The messages of a case, each after the one before it."""

    entries: Sequence[MessageDocument]
    waits: Collection[str]
    """`team/path` of the steps that wait for messages."""
    sent: list[asyncio.Task[str | None]] = field(default_factory=list[asyncio.Task[str | None]])

    @property
    def watches(self) -> Watched | None:
        """The steps, while a message is left."""
        return "steps" if len(self.sent) < len(self.entries) else None

    def due(self, scene: Scene) -> datetime | None:
        """Return when the next message is due: while the run waits for one, or during a step."""
        if len(self.sent) == len(self.entries):
            return None
        entry = self.entries[len(self.sent)]
        steps = self.waits if entry.during is None else (entry.during,)
        names = {name: at for step, at in scene.doing.items() for name in written_forms(step)}
        since = next((at for name, at in names.items() if name in steps), None)
        if since is None:
            return None
        return since + timedelta(seconds=entry.after) + (ROUNDED if entry.after else timedelta())

    async def happen(self, run: Run, scene: Scene) -> None:
        """Send the message without waiting for its reply."""
        entry = self.entries[len(self.sent)]
        acceptance = asyncio.Event()
        task = asyncio.create_task(_problem(run, entry, acceptance))
        task.add_done_callback(lambda _: acceptance.set())
        self.sent.append(task)
        await acceptance.wait()

    def missed(self) -> str | None:
        """Explain which messages were never sent, or had another answer than expected."""
        problems = [task.result() for task in self.sent if task.done() and not task.cancelled()]
        texts = [problem for problem in problems if problem is not None]
        for task in self.sent:
            task.cancel()
        if len(self.sent) < len(self.entries):
            entry = self.entries[len(self.sent)]
            texts.append(f"the run never waited for the message {shown(entry.message, 60)}")
        return "; ".join(texts) or None


async def _problem(run: Run, entry: MessageDocument, acceptance: asyncio.Event) -> str | None:
    """Send one message; return how its answer differs from what the case expects."""
    text = shown(entry.message, 60)
    session_input = SessionInput(message=entry.message, by=entry.by)
    try:
        reply = await send_message(run, session_input, str(uuid4()), acceptance.set)
    except MessageRefusedError as error:
        if error.code == entry.refused:
            return None
        return f"the message {text} was refused: {error.code}: {error}"
    except CommandError as error:
        return f"the message {text}: {error}"
    if entry.refused is not None:
        return f"the message {text} must be refused with {entry.refused}, and was answered"
    return _unexpected_reply(entry, text, reply)


def _unexpected_reply(entry: MessageDocument, text: str, reply: JsonValue) -> str | None:
    if "reply" not in entry.model_fields_set or holds(entry.reply, reply):
        return None
    return f"the reply to {text} is {shown(reply)}, and not {check_text(entry.reply)}"
