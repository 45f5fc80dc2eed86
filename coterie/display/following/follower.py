"""Follow a run to its end: show progress, handle requests, survive a server outage."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from coterie.display.following.discovery_notes import DiscoveryNotes
from coterie.display.following.plain_view import ProgressView
from coterie.runs.call_errors import Unanswered
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.live_texts import POLL_SECONDS, LiveAnswer, live_answers, streams
from coterie.runs.retries import PendingRetry, retries_of
from coterie.runs.run_client import Run
from coterie.runs.run_view import RunNews
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.views import TrailEntry

_LOOK_SECONDS = 0.4
_SILENCE_REPORTED_AT = 3


class RequestHandling(Protocol):
    """Handles the requests that wait for a person."""

    async def consider(self, pending: Sequence[Pending]) -> None:
        """Look at all pending requests; called repeatedly."""
        ...

    async def close(self) -> None:
        """Stop: the run has ended, or nobody watches it any more."""
        ...


class Watch:
    """One person's view of one run."""

    def __init__(
        self,
        run: Run,
        view: ProgressView,
        decider: RequestHandling,
        found: DiscoveryNotes | None = None,
    ) -> None:
        """Prepare to follow a run.

        Args:
            run: The run.
            view: Shows progress.
            decider: Handles requests.
            found: Reports what tool functions collect; default: knows providers only by name.
        """
        self._found = found or DiscoveryNotes({})
        self._run = run
        self._view = view
        self._decider = decider
        self._unanswered = 0
        self._streams = asyncio.Event()
        """Set while a model writes an answer that can be watched."""
        self._steps: Mapping[str, str] = {}
        """`{id of a call in progress: its step}`."""
        self._unknown: set[str] = set()
        """Calls whose step the run does not report."""
        self.trail: list[TrailEntry] = []
        """All entries seen so far."""

    async def until_end(self) -> RunEnd:
        """Follow the run, and handle its requests, until it ends."""
        end = asyncio.create_task(self._end())
        texts = asyncio.create_task(self._show_texts())
        try:
            while not end.done():
                await self._look()
                await asyncio.wait([end], timeout=_LOOK_SECONDS)
            await self._look()
            return await end
        finally:
            end.cancel()
            texts.cancel()
            await self._decider.close()

    async def _end(self) -> RunEnd:
        while True:
            try:
                return await self._run.end()
            except Unanswered:
                await asyncio.sleep(_LOOK_SECONDS)

    async def _look(self) -> None:
        last = self.trail[-1].number if self.trail else 0
        try:
            status = await self._run.status()
            news = await self._run.trail(last) if status.events > last else []
            pending = await self._run.pending() if status.waiting_for else ()
            cost = await self._run.cost() if news and status.model_calls else None
            self._steps = status.calls
            retries = await self._retries() if status.doing else ()
        except Unanswered as error:
            self._note_silence(error)
            return
        if self._unanswered >= _SILENCE_REPORTED_AT:
            self._view.say(f"the run {self._run.id!r} answers again")
        self._unanswered = 0
        self.trail += news
        for line in await self._found.lines(news):  # before the results of later calls
            self._view.say(line)
        self._view.progress(RunNews(status, news, pending, cost, retries))
        await self._decider.consider(pending)

    async def _retries(self) -> tuple[PendingRetry, ...]:
        description = await self._run.describe()
        if streams(description):
            self._streams.set()
        return retries_of(description, self._steps)

    async def _answers(self) -> tuple[LiveAnswer, ...]:
        """Return the answers in progress; ask the run once for the step of a call that is new."""
        description = await self._run.describe()
        answers = await live_answers(description, self._steps)
        new = {answer.call for answer in answers} - self._steps.keys() - self._unknown
        if not new:
            return answers
        self._steps = (await self._run.status()).calls
        self._unknown |= new - self._steps.keys()
        return await live_answers(description, self._steps)

    async def _show_texts(self) -> None:
        """Show the text of the turns in progress, more often than the rest."""
        while await self._streams.wait():
            try:
                answers = await self._answers()
            except Unanswered:
                await asyncio.sleep(_LOOK_SECONDS)
                continue
            self._view.writing(answers)
            if not answers:
                self._streams.clear()
            await asyncio.sleep(POLL_SECONDS)

    def _note_silence(self, error: Unanswered) -> None:
        """Report a silence once, if it lasts longer than a moment."""
        self._unanswered += 1
        if self._unanswered == _SILENCE_REPORTED_AT:
            self._view.say(str(error))
