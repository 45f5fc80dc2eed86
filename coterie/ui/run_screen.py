"""Connect the screen of a run to the reports of its watcher."""

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from coterie.arguments import login_name
from coterie.display.following.follower import RequestHandling
from coterie.display.screens import PastRun, Screen, ScreenLeft
from coterie.failures import CommandError
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.live_texts import LiveAnswer
from coterie.runs.run_client import Run
from coterie.runs.run_view import RunNews, RunView
from coterie.ui.run_app import RunApp
from coterie.ui.steering import Steering
from coterie.workflows.core.requests import Pending


class RunScreen(Screen):
    """Shows a run in the whole terminal; what the watcher reports and the person decides."""

    def __init__(self, run: Run, workspace: Path | None) -> None:
        """Prepare the screen; it opens with `until_left`.

        Args:
            run: The run.
            workspace: Folder of the files that the run changes; None if it is elsewhere.
        """
        super().__init__(run.id)
        self._ended: datetime | None = None
        steering = Steering(run, login_name(), self.say)
        self.requests: RequestHandling = ScreenRequests(run, self._seen, steering)
        self.app = RunApp(self._seen, steering, workspace)

    def progress(self, news: RunNews) -> None:
        """Take the run's state and the new events."""
        super().progress(news)
        self.app.changed()

    def take_past(self, past: PastRun) -> None:
        """Take a run that has ended already; its end follows with `until_left`."""
        self._seen.goal, self._seen.began, self._ended = past.goal, past.began, past.ended
        self.progress(past.news)

    def writing(self, answers: Sequence[LiveAnswer]) -> None:
        """Take the answers that models are writing now."""
        super().writing(answers)
        self.app.changed()

    def say(self, text: str) -> None:
        """Show a message."""
        self.app.tell(text)

    async def until_left(self, end: Awaitable[RunEnd]) -> RunEnd:
        """Show the run until the person leaves, and return its end.

        Raises:
            ScreenLeft: The person left before the end.
        """
        watching = asyncio.ensure_future(end)
        showing = asyncio.create_task(self.app.run_async())
        try:
            await asyncio.wait({watching, showing}, return_when=asyncio.FIRST_COMPLETED)
            if watching.done() and not showing.done():
                if watching.exception() is None:
                    self._seen.take_end(watching.result(), self._ended or datetime.now(UTC))
                    self.say("the run has ended; q closes the screen")
                else:
                    self.app.exit()
            await showing
            if self.app.failure is not None:
                raise self.app.failure
            if not watching.done():
                raise ScreenLeft
            return watching.result()
        finally:
            if not showing.done():
                self.app.exit()
                await asyncio.wait([showing])
            watching.cancel()
            await asyncio.wait([watching])


class ScreenRequests:
    """Handles the requests that wait: by `auto`, else by what the person presses."""

    def __init__(self, run: Run, seen: RunView, steering: Steering) -> None:
        self._run = run
        self._seen = seen
        self._steering = steering
        self._introduced = False

    async def consider(self, pending: Sequence[Pending]) -> None:
        """Approve every pending request, if the person chose to."""
        if not self._introduced:
            self._introduced = True
            await self._introduce()
        await self._steering.consider(pending)

    async def close(self) -> None:
        """Do nothing: the screen withdraws its dialogs itself."""

    async def _introduce(self) -> None:
        """Learn what the run is for, and since when."""
        try:
            self._seen.began = await self._run.began(await self._run.describe())
            goal = (await self._run.state("context.goal")).value
        except CommandError:
            return  # it has no goal, or does not answer
        if isinstance(goal, str):
            self._seen.goal = goal
