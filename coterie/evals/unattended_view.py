"""The view of a run that nobody watches: notices a request that nobody decides."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from coterie.runs.live_texts import LiveAnswer
from coterie.runs.progress import Progress
from coterie.runs.run_view import RunNews
from coterie.workflows.core.requests import Pending


class UnattendedView:
    """Shows nothing."""

    def __init__(self) -> None:
        self._rows = Progress()
        self.request = ""
        """The first request without a written decision."""
        self.asked = asyncio.Event()
        """Set when there is one."""

    @property
    def rows(self) -> Progress:
        """No visits and tasks: nobody sees them."""
        return self._rows

    def progress(self, news: RunNews) -> None:
        """Ignore the run's state."""

    def writing(self, answers: Sequence[LiveAnswer]) -> None:
        """Ignore what models write."""

    def show(self, request: Pending) -> None:
        """Note a request that no written decision settles."""
        self.request = self.request or request.id
        self.asked.set()

    def say(self, text: str) -> None:
        """Ignore a message."""

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Do nothing around a question, which nobody is asked."""
        yield

    def close(self) -> None:
        """Do nothing."""
