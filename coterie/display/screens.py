"""The interface of the terminal UI. The UI is above this shelf, and needs the extra `ui`."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from coterie.display.following.follower import RequestHandling
from coterie.display.following.plain_view import ProgressView
from coterie.display.written_decisions import WrittenDecision, decisions_for
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.run_client import Run
from coterie.runs.run_view import RunNews
from coterie.workflows.core.requests import Pending


class ScreenLeft(Exception):
    """The person left the screen before the run ended."""


class PastRun(NamedTuple):
    """A run that had ended before anybody opened its screen, read from its history."""

    news: RunNews
    """Its last state, and all that happened."""
    goal: str
    """Empty if it has none."""
    began: datetime
    ended: datetime


class Screen(ProgressView, ABC):
    """A view that fills the terminal, and from which a person decides."""

    requests: RequestHandling
    """What handles the requests that the watcher finds."""

    @abstractmethod
    def take_past(self, past: PastRun) -> None:
        """Take a run that has ended already; its end follows with `until_left`."""

    @abstractmethod
    async def until_left(self, end: Awaitable[RunEnd]) -> RunEnd:
        """Show the run until the person leaves, and return its end.

        Args:
            end: Watches the run to its end.

        Raises:
            ScreenLeft: The person left before the end.
        """


class OpenScreen(Protocol):
    """Makes the screen of a run."""

    def __call__(self, run: Run, workspace: Path | None) -> Screen:
        """Return the screen of a run; `workspace` holds its files, None if they are elsewhere."""
        ...


class ScreenHandling:
    """Leaves what no written decision matches to the screen."""

    def __init__(
        self, decider: RequestHandling, screen: Screen, written: Sequence[WrittenDecision]
    ) -> None:
        """Combine the two.

        Args:
            decider: Applies the written decisions.
            screen: Where a person decides the rest.
            written: The written decisions.
        """
        self._decider = decider
        self._screen = screen
        self._written = written

    async def consider(self, pending: Sequence[Pending]) -> None:
        """Apply written decisions, then let the screen act."""
        await self._decider.consider([request for request in pending if self._is_written(request)])
        await self._screen.requests.consider(
            [request for request in pending if not self._is_written(request)]
        )

    async def close(self) -> None:
        """Stop both."""
        await self._decider.close()
        await self._screen.requests.close()

    def _is_written(self, request: Pending) -> bool:
        return bool(decisions_for(request.id, self._written))
