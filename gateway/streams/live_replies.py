"""The text of a reply while a model writes it, for protocols that can only append."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from coterie.dsl.analysis.answering_steps import answering_steps
from coterie.dsl.model.plan import Plan
from coterie.gateway.streams import run_events as events
from coterie.gateway.streams.event_rows import StreamRow
from coterie.gateway.streams.followers import Follower
from coterie.gateway.streams.run_events import read_run_event
from coterie.gateway.streams.stream_hub import StreamHub
from coterie.runs.live_texts import LiveAnswer
from coterie.workflows.core.messages import SEND_MESSAGE

_READ = frozenset({"message_received", "update_answered", "call_scheduled", "reset", "continued"})


class LiveReply:
    """Takes the text of one reply from a run's stream: each character once, and nothing else.

    A call counts only if it began while the run worked on this message, because texts come from
    the server's newest state and events from the history: they do not keep step.
    """

    def __init__(
        self, follower: Follower, message: str | None, plan: Callable[[], Awaitable[Plan | None]]
    ) -> None:
        """Take what follows the run, and what says which steps answer.

        Args:
            follower: Of the run.
            message: The id of the message to a session; None for the result of another run.
            plan: Returns the plan of the run; None while it has none.
        """
        self._follower = follower
        self._message = message
        self._plan = plan
        self._steps: frozenset[str] | None = None
        self._next_row = follower.window.start
        self._open: list[str] = []
        self._calls: dict[str, str] = {}
        """`{call: its step}` of those that began while the run worked on the message."""
        self._source: tuple[str, int] | None = None
        """The call and the attempt whose text is sent."""
        self._has_gap = False
        self.sent = ""
        """The text so far."""

    async def piece(self) -> str:
        """Return the text that was written since the last time; empty if there is none."""
        self._read_rows()
        if self._has_gap or not self._follower.answers or not self._calls:
            return ""
        if self._steps is None:
            plan = await self._plan()
            if plan is None:
                return ""
            self._steps = answering_steps(plan)
        for answer in self._follower.answers:
            if self._calls.get(answer.call) in self._steps:
                return self._of_answer(answer)
        return ""

    def _of_answer(self, answer: LiveAnswer) -> str:
        tail, source = answer.tail, (answer.call, answer.tail.attempt)
        if self._source != source:
            if tail.start or not tail.text.startswith(self.sent):
                return ""  # another attempt: it has not come as far, or writes something else
            self._source = source
        if tail.start > len(self.sent):
            self._has_gap = True  # the server has no longer what comes between
            return ""
        piece = tail.text[len(self.sent) - tail.start :]
        self.sent += piece
        return piece

    def _read_rows(self) -> None:
        window = self._follower.window
        if self._next_row < window.start:
            self._has_gap = True  # its events came faster than they were read
        for number in range(max(self._next_row, window.start), window.end):
            self._read_row(window.row(number))
        self._next_row = window.end

    def _read_row(self, row: StreamRow) -> None:
        if row.type not in _READ:
            return
        match read_run_event(row.data):
            case events.MessageReceivedEvent(form="update", name=name, update=update):
                if name == SEND_MESSAGE:
                    self._open.append(update)
            case events.UpdateAnsweredEvent(update=update) if update in self._open:
                self._open.remove(update)
            case events.CallScheduledEvent(kind="turn", call=call, step=step):
                if self._message is None or self._open[:1] == [self._message]:
                    self._calls[call] = step
            case events.ResetEvent() | events.ContinuedEvent():
                self._open.clear()
                self._calls.clear()
            case _:
                pass


@asynccontextmanager
async def live_reply(
    hub: StreamHub,
    run: str,
    message: str | None,
    plan: Callable[[], Awaitable[Plan | None]],
    wake: asyncio.Event,
) -> AsyncGenerator[LiveReply]:
    """Follow the text of a reply within the block; set the event when there may be more.

    Raises:
        CommandError: The run cannot be followed.
    """
    async with hub.following(run, wake) as follower:
        yield LiveReply(follower, message, plan)
